import type { JsonObject } from '@sluice/canonical';

/** Google's own signature for a call that another model made, or that lost its signature in another format. */
const unsigned = 'skip_thought_signature_validator';

/** From the third generation on, models refuse a step whose first call has no signature. */
const asksForSignatures = /gemini-(?![12](?:\D|$))/;

/** The parts of a step of the model, with its first call signed. */
export function signCalls(parts: readonly JsonObject[], model: string): JsonObject[] {
  const first = parts.findIndex((part) => part.functionCall !== undefined);
  if (!asksForSignatures.test(model)) return [...parts];
  return parts.map((part, index) => (index === first ? { thoughtSignature: unsigned, ...part } : part));
}
