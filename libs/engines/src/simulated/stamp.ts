/** Thirteen digits of milliseconds, a point, and three of microseconds: enough until the year 2286. */
const fractionDigits = 3;
const stampPattern = /@(\d{13}\.\d{3})/g;

/**
 * A token with its emission time: `amber` at 1732180000000.125 is `amber@1732180000000.125`. All stamps have the same
 * width.
 */
export function stampToken(token: string, emittedAt: number): string {
  return `${token}@${emittedAt.toFixed(fractionDigits)}`;
}

/** A stamped text, taken apart. */
export interface StampedText {
  /** The text without its stamps: the reference text of its seed. */
  text: string;
  /** One emission time per token: epoch milliseconds with a fraction. */
  emittedAt: number[];
}

/** Takes the stamps out of a text. A text without stamps is returned unchanged. */
export function parseStamps(stamped: string): StampedText {
  const emittedAt: number[] = [];
  const text = stamped.replace(stampPattern, (_stamp, instant: string) => {
    emittedAt.push(Number(instant));
    return '';
  });
  return { text, emittedAt };
}
