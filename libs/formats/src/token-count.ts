/** No answer and no prompt is that long, and there are servers that count in 32 bits. */
const mostTokens = 2_147_483_647;

/** A client's limit of the answer before it is checked: one beyond all bounds is no mistake, it asks for all there is. */
export function boundTokens(value: unknown): unknown {
  return typeof value === 'number' && value > mostTokens ? mostTokens : value;
}

/**
 * A server's count of tokens; absent for what can't be one. A server that has subtracted too much tells a negative one, or
 * one of 64 bits, beyond which no sum of counts is right any more.
 */
export function tokenCount(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostTokens
    ? Number(value)
    : undefined;
}
