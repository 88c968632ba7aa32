import {
  type ErrorDetail,
  type ErrorInfo,
  type ErrorKind,
  extend,
  extensionsOf,
  isJsonObject,
  type JsonObject,
} from '@sluice/canonical';
import type { EncodedError, HttpHeaders, ReplyContext } from '../codec.ts';
import { readErrorObject, type WireError } from '../failures/error-object.ts';
import { sayTooLong, type TooLong } from '../failures/too-long.ts';
import { unreadable } from '../failures/unreadable.ts';
import { kindOfStatus, markOverload, readRetryAdvice } from '../failures/upstream-status.ts';
import {
  isOutOfMoney,
  saysRefusedFeature,
  saysRefusedMedia,
  saysTooLong,
  shortened,
} from '../failures/upstream-words.ts';
import { objectOf } from '../json/json-object.ts';
import { sseEvent } from '../sse.ts';
import { retryHeaders, statusOf } from '../status.ts';
import { kindOfErrorCode } from './error-code.ts';
import { FORMAT } from './wire.ts';

const typeOf: Readonly<Record<ErrorKind, string>> = {
  'invalid-request': 'invalid_request_error',
  unauthenticated: 'authentication_error',
  'budget-exhausted': 'billing_error',
  'permission-denied': 'permission_error',
  'not-found': 'not_found_error',
  'method-not-allowed': 'invalid_request_error',
  'too-large': 'request_too_large',
  'unsupported-media': 'invalid_request_error',
  'rate-limited': 'rate_limit_error',
  saturated: 'rate_limit_error',
  cancelled: 'api_error',
  internal: 'api_error',
  'upstream-failed': 'api_error',
  unavailable: 'api_error',
  'deadline-exceeded': 'timeout_error',
};

const kindOf: Readonly<Record<string, ErrorKind>> = {
  invalid_request_error: 'invalid-request',
  authentication_error: 'unauthenticated',
  billing_error: 'budget-exhausted',
  permission_error: 'permission-denied',
  not_found_error: 'not-found',
  request_too_large: 'too-large',
  rate_limit_error: 'rate-limited',
  timeout_error: 'deadline-exceeded',
  overloaded_error: 'unavailable',
  api_error: 'upstream-failed',
};

/** Codes that SDKs act upon. */
const codeOf: Partial<Record<ErrorDetail, string>> = { 'thread-not-found': 'thread_not_found' };

const overload = { status: 529, type: 'overloaded_error' };

/** The answer to a call that failed before its stream began. Overload of the server has its own status. */
export function encodeError(error: ErrorInfo, { requestId }: ReplyContext): EncodedError {
  const { status, type } =
    error.detail === 'overloaded' ? overload : { status: statusOf[error.kind], type: typeOf[error.kind] };
  return { status, headers: retryHeaders(error), body: errorBody(type, error, requestId) };
}

/** The event that ends a stream with an error. There is no status in mid-stream, so overload has its own type. */
export function encodeStreamError(error: ErrorInfo, { requestId }: ReplyContext): string {
  const isOverload = error.kind === 'saturated' || error.kind === 'unavailable';
  const type = isOverload ? overload.type : typeOf[error.kind];
  return sseEvent('error', errorBody(type, error, requestId));
}

function errorBody(type: string, error: ErrorInfo, requestId: string): JsonObject {
  const code = error.detail === undefined ? undefined : codeOf[error.detail];
  const details = code === undefined ? extensionsOf(error, FORMAT) : { details: { error_code: code } };
  return { type: 'error', error: { type, message: messageOf(error), ...details }, request_id: requestId };
}

/** Coding tools look for exactly these words before they compact the conversation. */
const tooLong: TooLong = {
  sentence: 'prompt is too long',
  known: /prompt is too long|exceed context limit/i,
};

function messageOf(error: ErrorInfo): string {
  const { message, param } = error;
  const isFound = param === undefined || message.includes(param);
  return sayTooLong(isFound ? error : { ...error, message: `${param}: ${message}` }, tooLong);
}

/** Reads a server's answer whose status is not 200. */
export function decodeError(status: number, headers: HttpHeaders, body: unknown): ErrorInfo {
  const silence = `the server answered with status ${status}`;
  const error = decodeErrorBody(body, kindOfStatus(status), silence);
  return { ...markOverload(error, status), ...readRetryAdvice(headers) };
}

/** What a status of 4xx can say more precisely than that the request is invalid. */
const refusals: ReadonlySet<ErrorKind> = new Set([
  'unauthenticated',
  'budget-exhausted',
  'permission-denied',
  'not-found',
  'method-not-allowed',
  'deadline-exceeded',
  'too-large',
  'unsupported-media',
  'rate-limited',
]);

/**
 * Whether the type of an error says less than its status. Claude's API may call a refusal with any status of 4xx an
 * invalid_request_error; other servers of this dialect call every fault an api_error.
 */
function isVaguer(type: ErrorKind, status: ErrorKind): boolean {
  return type === 'upstream-failed' || (type === 'invalid-request' && refusals.has(status));
}

/**
 * Reads an error body, or the body of a stream's `error` event. If it does not name a kind of this dialect, that is
 * `fallback`; if it says nothing, the message is `silence`.
 */
export function decodeErrorBody(body: unknown, fallback: ErrorKind, silence: string): ErrorInfo {
  const said = readErrorObject(body);
  const { details } = said;
  return { ...describe(said, fallback, silence), ...(details && extend(FORMAT, { details })) };
}

function describe({ type, message, details }: WireError, fallback: ErrorKind, silence: string): ErrorInfo {
  const known = type !== undefined && Object.hasOwn(kindOf, type) ? kindOf[type] : undefined;
  const general = known === undefined || isVaguer(known, fallback) ? fallback : known;
  const kind = kindOfErrorCode(details?.error_code) ?? general;
  const text = message ? shortened(message) : silence;
  if ((kind === 'invalid-request' || kind === 'too-large') && saysTooLong(text)) {
    return { kind: 'invalid-request', message: text, detail: 'context-length-exceeded' };
  }
  if (isOutOfMoney(kind, text)) return { kind: 'budget-exhausted', message: text };
  if (kind === 'upstream-failed' && saysRefusedMedia(text)) return { kind: 'invalid-request', message: text };
  if (kind === 'not-found' && saysRefusedFeature(text)) return { kind: 'invalid-request', message: text };
  if (kind === 'not-found' && /model/i.test(text)) return { kind, message: text, detail: 'model-not-found' };
  return markOverload({ kind, message: text }, type, text);
}

/**
 * Reads an error in a stream or body that began well; absent when there is none. Routers that serve many dialects send
 * it without an event type and with a status as its code, or as a mere text.
 */
export function decodeInBandError({ error }: JsonObject): ErrorInfo | undefined {
  if (typeof error === 'string' ? error === '' : !isJsonObject(error)) return undefined;
  const status = Number(objectOf(error).code);
  const kind = status >= 400 ? kindOfStatus(status) : 'upstream-failed';
  return decodeErrorBody({ error }, kind, unreadable('wordless').message);
}
