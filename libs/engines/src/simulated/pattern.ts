import { SluiceError } from '@sluice/canonical';
import { Effort } from './effort.ts';
import type { Random } from './random.ts';

/** A part of a pattern that can write an example of itself. */
type Sampler = (sampling: Sampling) => string;

interface Sampling {
  random: Random;
  /** How many repetitions beyond its minimum an open quantifier may take; with `isFull`, it takes all of them. */
  extra: number;
  isFull: boolean;
  /** How many characters and repetitions may still be written. */
  budget: number;
}

/** Of a sample, in characters and repetitions. */
const maxWritten = 10_000;
/** Longer patterns are not supported: each class is kept as a list, and 300 classes of all letters took 8 GB. */
const maxPattern = 1_000;
/** The most characters of a range. They are its first ones, so that no printable character is missed. */
const maxRange = 256;
const printable = Array.from({ length: 95 }, (_value, index) => String.fromCharCode(32 + index));
const digits = [...'0123456789'];
const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const wordCharacters = [...letters, ...letters.map((letter) => letter.toUpperCase()), ...digits, '_'];
const classes: Readonly<Record<string, readonly string[]>> = {
  d: digits,
  w: wordCharacters,
  s: [' '],
  D: letters,
  W: ['-'],
  S: letters,
};
const controls: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', 0: '\0' };

/**
 * A text that the regular expression matches; absent if the expression uses something unsupported (back references,
 * property classes). Look-arounds count as satisfied. The expression comes from a stranger, so it is only read and
 * never run: one that runs for ever would block the process. What it costs to read and to write is spent of `effort`.
 */
export function samplePattern(
  pattern: string,
  random: Random,
  {
    extra = 2,
    isFull = false,
    effort = new Effort(),
  }: Partial<Pick<Sampling, 'extra' | 'isFull'> & { effort: Effort }> = {},
): string | undefined {
  if (pattern.length > maxPattern) return undefined;
  const reader = new PatternReader(pattern);
  const sampling = { random, extra, isFull, budget: maxWritten };
  const sample = attempt(() => reader.read()(sampling));
  effort.spend(reader.cost + maxWritten - sampling.budget);
  return sample;
}

/** Absent if the pattern is beyond the sampler. */
function attempt(sample: () => string): string | undefined {
  try {
    return sample();
  } catch (thrown) {
    if (thrown instanceof SluiceError || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function write(character: string, sampling: Sampling): string {
  sampling.budget -= 1;
  if (sampling.budget < 0) throw unsupported();
  return character;
}

class PatternReader {
  private readonly pattern: string;
  private at = 0;
  /** Characters that were read, and those of classes. */
  cost = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  read(): Sampler {
    const whole = this.alternatives();
    if (this.at < this.pattern.length) throw unsupported();
    return whole;
  }

  private alternatives(): Sampler {
    const options = [this.sequence()];
    while (this.take('|')) options.push(this.sequence());
    return (sampling) => sampling.random.pick(options)?.(sampling) ?? '';
  }

  private sequence(): Sampler {
    const parts: Sampler[] = [];
    while (this.at < this.pattern.length && !'|)'.includes(this.peek())) parts.push(this.quantified());
    return (sampling) => parts.map((part) => part(sampling)).join('');
  }

  private quantified(): Sampler {
    const atom = this.atom();
    const [, sign, low, comma, high] = this.match(/([*+?])|\{(\d+)(?:(,)(\d+)?)?\}/y) ?? [];
    if (sign === undefined && low === undefined) return atom;
    this.take('?');
    const least = sign === '+' ? 1 : Number(low ?? 0);
    const fixed = comma === undefined ? least : undefined;
    const most =
      sign === undefined ? (high === undefined ? fixed : Number(high)) : sign === '?' ? 1 : undefined;
    return (sampling) => {
      const ceiling = Math.min(most ?? Number.POSITIVE_INFINITY, least + sampling.extra);
      const times = sampling.isFull ? ceiling : sampling.random.integer(least, Math.max(least, ceiling));
      let text = '';
      for (let time = 0; time < times; time += 1) {
        // An atom may write nothing.
        text += write('', sampling) + atom(sampling);
      }
      return text;
    };
  }

  private atom(): Sampler {
    const character = this.next();
    switch (character) {
      case '(':
        return this.group();
      case '[':
        return this.oneOf(this.characterClass());
      case '\\':
        return this.oneOf(this.escape());
      case '.':
        return this.oneOf(wordCharacters);
      case '^':
      case '$':
        return () => '';
      default:
        return this.oneOf([character]);
    }
  }

  private group(): Sampler {
    const prefix = this.match(/\?(?::|<?[=!]|<\w+>)/y)?.[0] ?? '';
    const inner = this.alternatives();
    if (!this.take(')')) throw unsupported();
    return /[=!]$/.test(prefix) ? () => '' : inner;
  }

  private characterClass(): readonly string[] {
    const isNegated = this.take('^');
    const members: string[] = [];
    while (!this.take(']')) {
      const [first = '', ...others] = this.classMember();
      members.push(first, ...others);
      if (others.length > 0 || this.peek() !== '-' || this.pattern[this.at + 1] === ']') continue;
      this.at += 1;
      const last = this.classMember()[0] ?? first;
      const from = first.charCodeAt(0);
      const to = Math.min(last.charCodeAt(0), from + maxRange);
      for (let code = from + 1; code <= to; code += 1) members.push(String.fromCharCode(code));
    }
    this.cost += members.length;
    if (!isNegated) return members;
    const excluded = new Set(members);
    return printable.filter((character) => !excluded.has(character));
  }

  private classMember(): readonly string[] {
    const character = this.next();
    return character === '\\' ? this.escape() : [character];
  }

  private escape(): readonly string[] {
    const character = this.next();
    if (Object.hasOwn(classes, character)) return classes[character] ?? [];
    if (Object.hasOwn(controls, character)) return [controls[character] ?? ''];
    if (character === 'b' || character === 'B') return [''];
    if (character === 'x' || character === 'u') {
      const digits = this.match(character === 'x' ? /[0-9a-fA-F]{2}/y : /[0-9a-fA-F]{4}/y)?.[0];
      if (digits === undefined) throw unsupported();
      return [String.fromCharCode(Number.parseInt(digits, 16))];
    }
    if (/[a-zA-Z1-9]/.test(character)) throw unsupported();
    return [character];
  }

  private oneOf(characters: readonly string[]): Sampler {
    if (characters.length === 0) throw unsupported();
    return (sampling) => write(sampling.random.pick(characters) ?? '', sampling);
  }

  private match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.pattern) ?? undefined;
    if (found) this.at += found[0].length;
    return found;
  }

  private peek(): string {
    return this.pattern[this.at] ?? '';
  }

  private take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.at += 1;
    return true;
  }

  private next(): string {
    const character = this.peek();
    if (character === '') throw unsupported();
    this.at += 1;
    this.cost += 1;
    return character;
  }
}

/** Never leaves this file: `samplePattern` turns it into an absent sample. */
function unsupported(): SluiceError {
  return new SluiceError('invalid-request', 'a pattern is beyond the sampler');
}
