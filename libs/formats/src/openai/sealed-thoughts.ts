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
