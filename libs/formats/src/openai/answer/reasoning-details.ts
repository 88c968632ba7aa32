import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Where routers such as OpenRouter report a model's thoughts, apart from their text. */
export const detailsField = 'reasoning_details';

/** The details that only their server can read. A Gemini model refuses a call that comes back without its own. */
export function sealedIn(details: Json | undefined): Json[] {
  if (!Array.isArray(details)) return [];
  return details.filter((detail) => isJsonObject(detail) && detail.type === 'reasoning.encrypted');
}

/** Separates the sealed thoughts from a call's other fields: on the wire, they belong to the call's message. */
export function takeSealed({ [detailsField]: details, ...rest }: JsonObject): {
  rest: JsonObject;
  sealed: Json[];
} {
  return { rest, sealed: sealedIn(details) };
}

/** The fields of a detail that come piece by piece. */
const readable = new Set(['text', 'summary']);

/**
 * The details so far, which grow in place, and those of one more chunk. A readable thought comes in many pieces, the
 * last of which is the model's signature of the whole: Claude refuses a thought that comes back in pieces.
 */
export function addDetails(known: Json | undefined, details: readonly Json[]): Json[] {
  const joined = Array.isArray(known) ? known : [];
  for (const detail of details) {
    const last = joined.at(-1);
    if (isJsonObject(last) && isJsonObject(detail) && goesOn(last, detail)) addPiece(last, detail);
    else joined.push(structuredClone(detail));
  }
  return joined;
}

function goesOn(last: JsonObject, { type, index }: JsonObject): boolean {
  const isReadable = type === 'reasoning.text' || type === 'reasoning.summary';
  const isSigned = typeof last.signature === 'string';
  return isReadable && type === last.type && index === last.index && !isSigned;
}

function addPiece(target: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    if (name === '__proto__' || value === null) continue;
    const old = target[name];
    const isLonger = readable.has(name) && typeof old === 'string' && typeof value === 'string';
    target[name] = isLonger ? old + value : value;
  }
}
