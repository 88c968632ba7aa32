import type { JsonObject } from '@sluice/canonical';
import type { Effort } from './effort.ts';
import { unsatisfiable } from './json-resolve.ts';
import { samplePattern } from './pattern.ts';
import type { Random } from './random.ts';
import { referenceText, referenceToken } from './reference.ts';

const maxLength = 20_000;
const patternAttempts = 20;

/** A string of the schema's format, pattern and length; two or three words if the schema says nothing. */
export function generateString(schema: JsonObject, random: Random, effort: Effort): string {
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  if (least > maxLength) throw unsatisfiable('a string in it is too long');
  if (least > most) throw unsatisfiable('a string in it has no room');
  effort.spend(least);
  const format =
    typeof schema.format === 'string' && Object.hasOwn(formats, schema.format)
      ? formats[schema.format]
      : undefined;
  if (format) return format(random);
  if (typeof schema.pattern === 'string') {
    const text = patterned(schema.pattern, { least, most }, random, effort);
    if (text !== undefined) return text;
  }
  return fitLength(referenceText(seed(random), 0, random.integer(2, 3)), least, most, random);
}

/** Absent if the sampler does not support the pattern. */
function patterned(
  pattern: string,
  { least, most }: { least: number; most: number },
  random: Random,
  effort: Effort,
): string | undefined {
  let last: string | undefined;
  for (let attempt = 0; attempt < patternAttempts; attempt += 1) {
    last = samplePattern(pattern, random, { ...strategies(least)[attempt % 3], effort });
    if (last === undefined || (last.length >= least && last.length <= most)) return last;
    // Without an anchor at the end, anything may follow the match.
    if (last.length < least && !pattern.endsWith('$')) return last.padEnd(least, 'a');
  }
  return last;
}

function strategies(least: number) {
  return [{ extra: 2 }, { extra: least, isFull: true }, { extra: 0 }];
}

function fitLength(text: string, least: number, most: number, random: Random): string {
  let fitted = text;
  while (fitted.length < least) fitted += ` ${referenceToken(seed(random), 0)}`;
  return fitted.slice(0, Math.max(least, Math.min(most, text.length)));
}

const formats: Readonly<Record<string, (random: Random) => string>> = {
  'date-time': (random) => `${date(random)}T${time(random)}Z`,
  date: (random) => date(random),
  time: (random) => `${time(random)}Z`,
  duration: (random) => `PT${random.integer(1, 59)}M`,
  email: (random) => `${word(random)}@example.com`,
  'idn-email': (random) => `${word(random)}@example.com`,
  hostname: (random) => `${word(random)}.example.com`,
  'idn-hostname': (random) => `${word(random)}.example.com`,
  ipv4: (random) => `192.0.2.${random.integer(1, 254)}`,
  ipv6: (random) => `2001:db8::${random.integer(1, 0xffff).toString(16)}`,
  uri: (random) => `https://example.com/${word(random)}`,
  url: (random) => `https://example.com/${word(random)}`,
  iri: (random) => `https://example.com/${word(random)}`,
  'uri-reference': (random) => `/${word(random)}`,
  'iri-reference': (random) => `/${word(random)}`,
  'uri-template': (random) => `/${word(random)}/{id}`,
  uuid: (random) => uuid(random),
  'json-pointer': (random) => `/${word(random)}`,
  'relative-json-pointer': (random) => `${random.integer(0, 3)}/${word(random)}`,
  regex: (random) => `^${word(random)}$`,
  byte: (random) => Buffer.from(word(random)).toString('base64'),
};

function seed(random: Random): number {
  return random.integer(0, 0xffffffff);
}

function word(random: Random): string {
  return referenceToken(seed(random), 0);
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

function date(random: Random): string {
  return `${random.integer(2000, 2030)}-${twoDigits(random.integer(1, 12))}-${twoDigits(random.integer(1, 28))}`;
}

function time(random: Random): string {
  return [23, 59, 59].map((most) => twoDigits(random.integer(0, most))).join(':');
}

function uuid(random: Random): string {
  const digits = (count: number) =>
    Array.from({ length: count }, () => random.integer(0, 15).toString(16)).join('');
  return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
}
