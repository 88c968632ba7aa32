import type { JsonObject } from '@sluice/canonical';
import { unsignedCall } from '../unsigned-call.ts';

/** From the third generation on, models refuse a step whose first call has no signature. */
const asksForSignatures = /gemini-(?![12](?:\D|$))/;

/** The parts of a step of the model, with its first call signed. */
export function signCalls(parts: readonly JsonObject[], model: string): JsonObject[] {
  const first = parts.findIndex((part) => part.functionCall !== undefined);
  if (!asksForSignatures.test(model)) return [...parts];
  return parts.map((part, index) => (index === first ? { thoughtSignature: unsignedCall, ...part } : part));
}
