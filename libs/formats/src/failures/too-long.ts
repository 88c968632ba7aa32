import type { ErrorInfo } from '@sluice/canonical';

/** How a format says that a prompt is too long. Many of its clients look for words, not for a code. */
export interface TooLong {
  /** Is put before the original message. */
  readonly sentence: string;
  /** The words that clients look for. */
  readonly known: RegExp;
}

/** The message of an error. If the prompt is too long, the message contains the format's words. */
export function sayTooLong(
  { message, detail }: Pick<ErrorInfo, 'message' | 'detail'>,
  { sentence, known }: TooLong,
): string {
  const isSaid = detail !== 'context-length-exceeded' || known.test(message);
  return isSaid ? message : `${sentence}: ${message}`;
}
