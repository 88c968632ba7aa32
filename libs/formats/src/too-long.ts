import type { ErrorInfo } from '@sluice/canonical';

/** How a format says that a prompt is too long: many of its clients look for words, and not for a code. */
export interface TooLong {
  /** What is put before the message of who found it so. */
  readonly sentence: string;
  /** The words that clients look for. */
  readonly known: RegExp;
}

/** The message of an error; of a prompt that is too long, one that holds the words. */
export function sayTooLong(
  { message, detail }: Pick<ErrorInfo, 'message' | 'detail'>,
  { sentence, known }: TooLong,
): string {
  const isSaid = detail !== 'context-length-exceeded' || known.test(message);
  return isSaid ? message : `${sentence}: ${message}`;
}
