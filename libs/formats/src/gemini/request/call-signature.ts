import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { unsignedCall } from '../../calls/unsigned-call.ts';

/** From the third generation on, models refuse a step whose first call has no signature. */
const asksForSignatures = /gemini-(?![12](?:\D|$))/;

/** The parts of a step of the model, with its first call signed. */
export function signCalls(parts: readonly JsonObject[], model: string): JsonObject[] {
  const first = parts.findIndex((part) => part.functionCall !== undefined);
  if (!asksForSignatures.test(model)) return [...parts];
  return parts.map((part, index) => (index === first ? { thoughtSignature: unsignedCall, ...part } : part));
}

/** Refusals of a signature that another model or server made. */
const refusesSignature =
  /\b(?:corrupted|invalid) thought[ _]signature\b|\bthought[ _]signature is (?:not valid|invalid)\b/i;

/**
 * The body with Google's own signature in place of each call's, and without all others; or, if it has no more than
 * that, without any. Absent if the refusal is about something else.
 */
export function withoutForeignSignatures(body: JsonObject, refusal: string): JsonObject | undefined {
  const { contents } = body;
  if (!refusesSignature.test(refusal) || !Array.isArray(contents)) return undefined;
  const parts = contents.flatMap((content) => partsOf(content));
  const isSigned = parts.some(({ thoughtSignature: signature }) => signature !== undefined);
  if (!isSigned) return undefined;
  const isForeign = parts.some(
    ({ thoughtSignature: signature }) => signature !== undefined && signature !== unsignedCall,
  );
  return {
    ...body,
    contents: contents.map((content) =>
      isJsonObject(content) && Array.isArray(content.parts)
        ? { ...content, parts: content.parts.map((part) => withoutSignature(part, isForeign)) }
        : content,
    ),
  };
}

function partsOf(content: Json): JsonObject[] {
  return isJsonObject(content) && Array.isArray(content.parts) ? content.parts.filter(isJsonObject) : [];
}

function withoutSignature(part: Json, isSkipped: boolean): Json {
  if (!isJsonObject(part) || part.thoughtSignature === undefined) return part;
  const { thoughtSignature: _foreign, ...rest } = part;
  return isSkipped && part.functionCall !== undefined ? { ...rest, thoughtSignature: unsignedCall } : rest;
}
