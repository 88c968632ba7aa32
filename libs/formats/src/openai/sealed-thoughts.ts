import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Where routers such as OpenRouter tell what a model thought, besides as text. */
export const detailsField = 'reasoning_details';

/** Those of the details that only their server can read: Gemini's of a call are refused to be missing beside it. */
export function sealedIn(details: Json | undefined): Json[] {
  if (!Array.isArray(details)) return [];
  return details.filter((detail) => isJsonObject(detail) && detail.type === 'reasoning.encrypted');
}

/** The fields of a call without the sealed thoughts that are filed on it: on the wire they stand in its message. */
export function takeSealed({ [detailsField]: details, ...rest }: JsonObject): {
  rest: JsonObject;
  sealed: Json[];
} {
  return { rest, sealed: sealedIn(details) };
}
