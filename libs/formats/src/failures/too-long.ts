import type { ErrorInfo } from '@sluice/canonical';

/** How a format says that a prompt is too long. Many of its clients look for words, not for a code. */
export interface TooLong {
  /** Is put before the original message. */
  readonly sentence: string;
  /** The words that clients look for. */
  readonly known: RegExp;
}

/** The message of an error. If the prompt is too long, the message contains the format's words, in each of its ways. */
export function sayTooLong(
  { message, detail }: Pick<ErrorInfo, 'message' | 'detail'>,
  ...ways: readonly TooLong[]
): string {
  if (detail !== 'context-length-exceeded') return message;
  return ways.reduce(
    (said, { sentence, known }) => (known.test(said) ? said : `${sentence}: ${said}`),
    message,
  );
}
