import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { readSentence } from './upstream-words.ts';

/** What a server says of an error, in whatever shape. */
export interface WireError {
  message?: string;
  type?: string;
  code?: string;
  param?: string;
  /** Facts for programs. */
  details?: JsonObject;
}

/**
 * Reads an error of a server of any dialect: many servers answer a fault in the shape of the framework below them.
 * These are `{error: {…}}` (also in a list, as Google sends it), `{error: "…"}`, the bare object, `{errors: [{…}]}` of
 * Cloudflare and Llama Stack (`error` at Cloudflare's AI Gateway), FastAPI's `{detail: …}` and plain text.
 */
export function readErrorObject(body: unknown): WireError {
  if (typeof body === 'string') return { message: body };
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(whole)) return {};
  const said = whole.error ?? whole.errors;
  const error = (Array.isArray(said) ? said[0] : whole.error) ?? whole;
  if (typeof error === 'string') return { message: error };
  if (!isJsonObject(error)) return {};
  const { type, param, details } = error;
  const message = readRaw(error.metadata)?.message ?? readSentence(error.message ?? error.detail ?? error);
  const code = typeof error.code === 'number' ? String(error.code) : error.code;
  return {
    ...(message !== undefined && { message }),
    ...(typeof type === 'string' && { type }),
    ...(typeof code === 'string' && { code }),
    ...(typeof param === 'string' && { param }),
    ...(isJsonObject(details) && { details }),
  };
}

/**
 * The error of the server behind a router such as OpenRouter, which may be no more than a text. The router's own message
 * only says that there was one.
 */
function readRaw(metadata: Json | undefined): WireError | undefined {
  if (!isJsonObject(metadata) || typeof metadata.raw !== 'string') return undefined;
  const { raw } = metadata;
  try {
    return readErrorObject(JSON.parse(raw));
  } catch {
    // The page of a proxy, or nothing, says less than the router.
    return /^\s*[^\s<]/.test(raw) ? { message: raw } : undefined;
  }
}
