import { errorInfoOf, SluiceError } from '@sluice/canonical';
import type { Services } from './services.ts';

/** A flag of a command. */
export interface Flag {
  /** Name of its value in the help; absent means that it takes none. */
  value?: string;
  /** One sentence fragment for the help. */
  summary: string;
}

/** What was typed after the command's name. */
export interface Input {
  words: readonly string[];
  /** Value of a flag; absent where it was not given. */
  text(flag: string): string | undefined;
  /** Whether a flag without a value was given. */
  isSet(flag: string): boolean;
  /** Epoch milliseconds at which the command began. */
  startedAt: number;
}

/** What a command says: text for people, or data for programs, by `--json`. */
export interface Answer {
  text: string;
  data: unknown;
}

/** One thing that an operator can do. */
export interface Command {
  /** As in `keys mint`. */
  readonly name: string;
  readonly summary: string;
  /** Words that it takes, as shown in the help: `ID`, `[NAME...]`. */
  readonly words?: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** Set if it changes nothing. A reader that leaves in the middle of its answer, as `| head`, is then no failure. */
  readonly isReadOnly?: true;
  /** Fewest and most words that it takes; default none. */
  readonly arity?: readonly [fewest: number, most: number];
  /** `open` connects to Redis; a command that needs none doesn't call it. */
  run(input: Input, open: () => Promise<Services>): Promise<Answer>;
}

/** A mistake in what was typed: it ends the program with code 2 and points to the help. */
export class UsageError extends SluiceError {
  constructor(message: string) {
    super('invalid-request', message);
    this.name = 'UsageError';
  }
}

/** The flag's value. Throws `UsageError` if it was not given. */
export function required(input: Input, flag: string): string {
  const text = input.text(flag);
  if (text === undefined) throw new UsageError(`--${flag} is missing`);
  return text;
}

/** The value of `--name`; absent if it was not given. Throws `UsageError` for a name that a table could not show. */
export function displayName(input: Input): string | undefined {
  const name = input.text('name');
  if (name !== undefined && (name.trim() === '' || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)))
    throw new UsageError('--name takes one line of visible characters');
  return name;
}

/** The first word. The command's arity must guarantee that there is one. */
export function firstWord({ words: [first = ''] }: Input): string {
  return first;
}

/** Internal errors keep their text here: unlike a caller, the operator may read it. */
export function messageOf(error: unknown): string {
  if (error instanceof SluiceError) return error.message;
  if (error instanceof Error) return `unexpected: ${error.message}`;
  return errorInfoOf(error).message;
}

/**
 * Does what follows a change. If it throws, the error begins with `done`, because the operator must still learn that
 * the change was made.
 */
export async function afterChange<Value>(done: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    throw new SluiceError(errorInfoOf(cause).kind, `${done}: ${messageOf(cause)}`, { cause });
  }
}
