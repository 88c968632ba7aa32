/** No answer is that long, and there are servers that count in 32 bits. */
const mostTokens = 2_147_483_647;

/** A client's limit of the answer before it is checked: one beyond all bounds is no mistake, it asks for all there is. */
export function boundTokens(value: unknown): unknown {
  return typeof value === 'number' && value > mostTokens ? mostTokens : value;
}
