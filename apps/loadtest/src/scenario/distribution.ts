import { assertNever, SluiceError } from '@sluice/canonical';
import { exponential, normal, type Random } from '../random.ts';
import { parseDurationMs } from './duration.ts';

/** How a length or a time varies. Every number is in the unit of what it describes. */
export type Distribution =
  | { kind: 'fixed'; value: number }
  | { kind: 'uniform'; from: number; to: number }
  | { kind: 'normal'; mean: number; deviation: number }
  | { kind: 'lognormal'; median: number; sigma: number }
  | { kind: 'exponential'; mean: number }
  | { kind: 'choice'; values: readonly { value: number; weight: number }[] };

/** Reads one value of a distribution; throws `invalid-request`. */
type ReadValue = (text: string) => number;

/** How a count varies: see `parseDistribution`. */
export const parseCounts = (text: string) => parseDistribution(text, parseNumber);

/** How a time varies, in milliseconds. */
export const parseTimes = (text: string) => parseDistribution(text, parseDurationMs);

/**
 * Reads `128`, `uniform:10..200`, `normal:128,32`, `lognormal:128,0.8` (median, sigma), `exponential:500` or
 * `choice:16=0.9,1024=0.1` (value=weight).
 */
export function parseDistribution(text: string, read: ReadValue): Distribution {
  const [, name, rest = ''] = /^\s*([a-z]+):(.*)$/.exec(text) ?? [];
  if (name === undefined) return { kind: 'fixed', value: read(text) };
  switch (name) {
    case 'fixed':
      return { kind: 'fixed', value: read(rest) };
    case 'uniform': {
      const [first, second] = pair(text, rest, '..');
      const [from, to] = [read(first), read(second)];
      if (from > to) throw new SluiceError('invalid-request', `lower bound above the upper one: ${text}`);
      return { kind: 'uniform', from, to };
    }
    case 'normal': {
      const [mean, deviation] = pair(text, rest, ',');
      return { kind: 'normal', mean: read(mean), deviation: read(deviation) };
    }
    case 'lognormal': {
      const [median, sigma] = pair(text, rest, ',');
      return { kind: 'lognormal', median: read(median), sigma: parseNumber(sigma) };
    }
    case 'exponential':
      return { kind: 'exponential', mean: read(rest) };
    case 'choice':
      return { kind: 'choice', values: rest.split(',').map((part) => choice(part, read)) };
    default:
      throw new SluiceError('invalid-request', `no distribution is named ${name}: ${text}`);
  }
}

/** One value; never negative. */
export function sample(distribution: Distribution, random: Random): number {
  switch (distribution.kind) {
    case 'fixed':
      return distribution.value;
    case 'uniform':
      return distribution.from + random() * (distribution.to - distribution.from);
    case 'normal':
      return Math.max(0, distribution.mean + normal(random) * distribution.deviation);
    case 'lognormal':
      return distribution.median * Math.exp(normal(random) * distribution.sigma);
    case 'exponential':
      return distribution.mean * exponential(random);
    case 'choice':
      return pick(distribution.values, random).value;
    default:
      return assertNever(distribution);
  }
}

/** One whole value, at least 1. */
export function sampleCount(distribution: Distribution, random: Random): number {
  return Math.max(1, Math.round(sample(distribution, random)));
}

/** The mean of the samples, ignoring that a normal distribution is cut at zero. */
export function meanOf(distribution: Distribution): number {
  switch (distribution.kind) {
    case 'fixed':
      return distribution.value;
    case 'uniform':
      return (distribution.from + distribution.to) / 2;
    case 'normal':
    case 'exponential':
      return distribution.mean;
    case 'lognormal':
      return distribution.median * Math.exp(distribution.sigma ** 2 / 2);
    case 'choice': {
      const total = distribution.values.reduce((sum, { weight }) => sum + weight, 0);
      return distribution.values.reduce((sum, { value, weight }) => sum + (value * weight) / total, 0);
    }
    default:
      return assertNever(distribution);
  }
}

/** One of several, by weight. */
export function pick<T extends { weight: number }>(choices: readonly T[], random: Random): T {
  let rest = random() * choices.reduce((sum, { weight }) => sum + weight, 0);
  for (const candidate of choices) {
    rest -= candidate.weight;
    if (rest < 0) return candidate;
  }
  const last = choices.at(-1);
  if (!last) throw new SluiceError('internal', 'a choice without members');
  return last;
}

function pair(text: string, values: string, separator: ',' | '..'): [string, string] {
  const [first, second, ...more] = values.split(separator);
  if (first === undefined || second === undefined || more.length > 0)
    throw new SluiceError('invalid-request', `expected 2 numbers with ${separator} between them: ${text}`);
  return [first, second];
}

function parseNumber(text: string): number {
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return Number(text);
  throw new SluiceError('invalid-request', `not a number: ${text}`);
}

function choice(text: string, read: ReadValue): { value: number; weight: number } {
  const [value = '', weight = '1', ...rest] = text.split('=');
  if (!(Number(weight) > 0) || rest.length > 0)
    throw new SluiceError('invalid-request', `not a weight above 0: ${text}`);
  return { value: read(value), weight: Number(weight) };
}
