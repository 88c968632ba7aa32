/** No answer and no prompt is that long, and some servers count in 32 bits. */
const mostTokens = 2_147_483_647;

/**
 * A client's output limit before it is validated. One beyond all bounds is no mistake: it asks for as much as there is.
 */
export function boundTokens(value: unknown): unknown {
  return typeof value === 'number' && value > mostTokens ? mostTokens : value;
}

/**
 * A server's count of tokens; absent for an impossible one. A server that has subtracted too much reports a negative
 * count, or one of 64 bits, with which no sum would be right.
 */
export function tokenCount(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostTokens
    ? Number(value)
    : undefined;
}
