import {
  type ErrorDetail,
  type ErrorInfo,
  type ErrorKind,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import type { EncodedError, HttpHeaders, ReplyContext } from '../codec.ts';
import { readErrorObject } from '../failures/error-object.ts';
import { sayTooLong, type TooLong } from '../failures/too-long.ts';
import { kindOfStatus, markOverload, readRetryAdvice } from '../failures/upstream-status.ts';
import { saysRefusedKey, saysRefusedPlace, saysTooLong, shortened } from '../failures/upstream-words.ts';
import { retryAfterSeconds, retryHeaders, statusOf } from '../status.ts';

const rpc = 'type.googleapis.com/google.rpc';

/** The dialect's canonical code for every kind. */
const rpcStatus: Readonly<Record<ErrorKind, string>> = {
  'invalid-request': 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  'budget-exhausted': 'FAILED_PRECONDITION',
  'permission-denied': 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'method-not-allowed': 'UNIMPLEMENTED',
  'too-large': 'INVALID_ARGUMENT',
  'unsupported-media': 'INVALID_ARGUMENT',
  'rate-limited': 'RESOURCE_EXHAUSTED',
  saturated: 'RESOURCE_EXHAUSTED',
  cancelled: 'CANCELLED',
  internal: 'INTERNAL',
  'upstream-failed': 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  'deadline-exceeded': 'DEADLINE_EXCEEDED',
};

/** The answer to a call that failed before its stream began. */
export function encodeError(error: ErrorInfo, { requestId }: ReplyContext): EncodedError {
  const requestInfo = { '@type': `${rpc}.RequestInfo`, requestId };
  return {
    status: statusOf[error.kind],
    headers: retryHeaders(error),
    body: encodeErrorBody(error, [requestInfo]),
  };
}

/** The error body, which is also the last message of a stream that failed. SDKs need `code` to be a number. */
export function encodeErrorBody(error: ErrorInfo, more: readonly JsonObject[] = []): JsonObject {
  const details = [...detailsOf(error), ...more];
  return {
    error: {
      code: statusOf[error.kind],
      message: sayTooLong(error, tooLong),
      status: rpcStatus[error.kind],
      ...(details.length > 0 && { details }),
    },
  };
}

/** The dialect has no code for it, so clients look for these words (LangChain, LiteLLM). */
const tooLong: TooLong = {
  sentence: 'The input token count exceeds the maximum number of tokens allowed',
  known: /exceeds the maximum number of tokens allowed/i,
};

function detailsOf(error: ErrorInfo): JsonObject[] {
  const details: JsonObject[] = [];
  if (error.kind === 'unauthenticated') {
    details.push({ '@type': `${rpc}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com' });
  }
  if (error.param !== undefined) {
    const fieldViolations = [{ field: error.param, description: error.message }];
    details.push({ '@type': `${rpc}.BadRequest`, fieldViolations });
  }
  // Coding CLIs read the delay here, never from the header.
  if ('retry-after' in retryHeaders(error)) {
    details.push({ '@type': `${rpc}.RetryInfo`, retryDelay: `${retryAfterSeconds(error)}s` });
  }
  return details;
}

/** Reads an upstream's failure from its status, its words and, if the body is an error of this dialect, its fields. */
export function decodeError(status: number, headers: HttpHeaders, body: unknown): ErrorInfo {
  const error = errorOf(body);
  const details = Array.isArray(error.details) ? error.details.filter(isJsonObject) : [];
  const isBadKey = details.some(({ reason }) => reason === 'API_KEY_INVALID' || reason === 'API_KEY_EXPIRED');
  // What stands before a server, and routers of many dialects, have errors of other shapes.
  const { message: words } = readErrorObject(body);
  const message = words ? shown(words) : `the upstream answered with status ${status}`;
  const meant = saysRefusedPlace(message) ? 'permission-denied' : kindOfStatus(status);
  const isKeyBlamed = isBadKey || (meant === 'invalid-request' && saysRefusedKey(message));
  const kind = isKeyBlamed ? 'unauthenticated' : meant;
  const detail = detailOf(kind, message);
  const retryAfterMs = retryDelay(details);
  return {
    ...markOverload({ kind, message, ...(detail && { detail }) }, status, message),
    ...readRetryAdvice(headers),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** The error of a body or of a chunk. Servers wrap the error of an unframed stream in an array. */
function errorOf(body: unknown): JsonObject {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  return isJsonObject(first) && isJsonObject(first.error) ? first.error : {};
}

/** The statuses of in-band errors that have only a word. Unknown words mean 500. */
const statusOfWord: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** Reads an in-band error, which names its own status. */
export function decodeStreamError(body: Json): ErrorInfo {
  const { code, status } = errorOf(body);
  const numeric = Number(code);
  if (numeric >= 400 && numeric < 600) return decodeError(numeric, {}, body);
  const word = typeof status === 'string' && Object.hasOwn(statusOfWord, status) ? status : '';
  return decodeError(statusOfWord[word] ?? 500, {}, body);
}

/** An upstream's own words, shortened and without the API key that some of them quote. */
function shown(message: string): string {
  return shortened(message.replace(/AIza[\w-]+|sk-[\w-]+|(?<=api_key:)[^\s'"]+/g, '[key]'));
}

function detailOf(kind: ErrorKind, message: string): ErrorDetail | undefined {
  if (kind === 'not-found' && /\bmodels?\b/i.test(message)) return 'model-not-found';
  return kind === 'invalid-request' && saysTooLong(message) ? 'context-length-exceeded' : undefined;
}

function retryDelay(details: readonly JsonObject[]): number | undefined {
  const delay = details.find(({ retryDelay: text }) => typeof text === 'string')?.retryDelay;
  const seconds = typeof delay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1] : undefined;
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}
