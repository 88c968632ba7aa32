import {
  type ErrorDetail,
  type ErrorInfo,
  type ErrorKind,
  extend,
  extensionsOf,
  isJsonObject,
  type Json,
} from '@sluice/canonical';
import type { EncodedError, HttpHeaders } from '../codec.ts';
import { readErrorObject, type WireError } from '../failures/error-object.ts';
import { sayTooLong, type TooLong } from '../failures/too-long.ts';
import { unreadable } from '../failures/unreadable.ts';
import { kindOfStatus, markOverload, readRetryAdvice } from '../failures/upstream-status.ts';
import {
  isOutOfMoney,
  saysFlaggedContent,
  saysRefusedFeature,
  saysRefusedKey,
  saysRefusedMedia,
  saysRefusedPlace,
  saysTooLong,
  shortened,
} from '../failures/upstream-words.ts';
import { retryHeaders, statusOf } from '../status.ts';
import { readStatusInBody } from './status-in-body.ts';
import { saysWrongOrder } from './turn-order.ts';
import { FORMAT } from './wire.ts';

interface Word {
  type: string;
  code: string | null;
}

/** How the dialect names each kind. */
const words: Readonly<Record<ErrorKind, Word>> = {
  'invalid-request': { type: 'invalid_request_error', code: null },
  unauthenticated: { type: 'authentication_error', code: 'invalid_api_key' },
  'budget-exhausted': { type: 'insufficient_quota', code: 'insufficient_quota' },
  'permission-denied': { type: 'permission_error', code: 'permission_denied' },
  'not-found': { type: 'invalid_request_error', code: 'not_found' },
  'method-not-allowed': { type: 'invalid_request_error', code: 'method_not_allowed' },
  'too-large': { type: 'invalid_request_error', code: 'request_too_large' },
  'unsupported-media': { type: 'invalid_request_error', code: 'unsupported_media_type' },
  'rate-limited': { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  saturated: { type: 'rate_limit_error', code: 'server_saturated' },
  cancelled: { type: 'server_error', code: 'request_cancelled' },
  'deadline-exceeded': { type: 'server_error', code: 'timeout' },
  'upstream-failed': { type: 'server_error', code: 'upstream_failed' },
  unavailable: { type: 'server_error', code: 'service_unavailable' },
  internal: { type: 'server_error', code: null },
};

/** Details that have a code of their own in this dialect. */
const detailCodes: Readonly<Record<ErrorDetail, string | undefined>> = {
  'model-not-found': 'model_not_found',
  'thread-not-found': undefined,
  'context-length-exceeded': 'context_length_exceeded',
  'content-filtered': 'content_filter',
  'invalid-json': 'invalid_json',
  overloaded: undefined,
  poison: undefined,
  drained: undefined,
  'worker-lost': undefined,
};

/**
 * The error object, the same in a body and in mid-stream. A server's own code, and what it blames, stand where ours say
 * nothing.
 */
export function encodeErrorBody(error: ErrorInfo): Json {
  const { type, code: ofKind } = words[error.kind];
  const told = extensionsOf(error, FORMAT);
  const code = (error.detail && detailCodes[error.detail]) ?? ofKind ?? told?.code ?? null;
  const param = error.param ?? told?.param ?? null;
  return { error: { message: sayTooLong(error, tooLong, tooLongForNewer), type, param, code } };
}

/**
 * Some clients look for these words instead of the code: LiteLLM, and coding tools before they compact the
 * conversation.
 */
const tooLong: TooLong = {
  sentence: "This model's maximum context length is exceeded",
  known: /maximum context length/i,
};

/**
 * The words of OpenAI's newer models, which LangChain looks for before it shortens a conversation. The newest SDK for
 * Python no longer shows it the code.
 */
const tooLongForNewer: TooLong = {
  sentence: 'Input tokens exceed the configured limit',
  known: /Input tokens exceed the configured limit|prompt is too long/,
};

/** The whole answer to a call that failed before its stream began. */
export function encodeError(error: ErrorInfo): EncodedError {
  return { status: statusOf[error.kind], headers: retryHeaders(error), body: encodeErrorBody(error) };
}

const kindOfCode = new Map<string, ErrorKind>();
for (const [kind, { code }] of Object.entries(words)) {
  // Safe to cast: the keys of a Record over ErrorKind are error kinds.
  if (code !== null) kindOfCode.set(code, kind as ErrorKind);
}

const kindOfType = new Map<string, ErrorKind>([
  ['invalid_request_error', 'invalid-request'],
  ['BadRequestError', 'invalid-request'],
  ['authentication_error', 'unauthenticated'],
  ['insufficient_quota', 'budget-exhausted'],
  ['permission_error', 'permission-denied'],
  ['NotFoundError', 'not-found'],
  ['rate_limit_error', 'rate-limited'],
  ['overloaded_error', 'unavailable'],
]);

/** Kinds whose messages quote parts of the refused key. */
const secretive: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'permission-denied']);

/** Reads an upstream's answer with a status of 400 or above. */
export function decodeError(status: number, headers: HttpHeaders, body: unknown): ErrorInfo {
  const silence = `the upstream answered with status ${status}`;
  const error = describe(readErrorObject(body), kindOfStatus(status), silence);
  return { ...markOverload(error, status), ...readRetryAdvice(headers) };
}

/** Reads an error in a stream or body that began well; absent if there is none. */
export function decodeInBandError(body: unknown): ErrorInfo | undefined {
  if (!isJsonObject(body)) return undefined;
  const reported = readStatusInBody(body);
  if (reported) {
    const { status, message, isFlagged } = reported;
    const found = { message, ...(isFlagged && { code: 'content_filter' }) };
    return describe(found, kindOfStatus(status), wordless);
  }
  // vLLM marks an error object that has no wrapper with `object: error`.
  if ((body.error === undefined || body.error === null) && body.object !== 'error') return undefined;
  return describeInBand(readErrorObject(body));
}

/** Reads a stream message whose event name says that it is an error, whatever it holds. */
export function decodeErrorMessage(data: string): ErrorInfo {
  try {
    return describeInBand(readErrorObject(JSON.parse(data)));
  } catch {
    return describeInBand({ message: data });
  }
}

const wordless = unreadable('wordless').message;

function describeInBand(found: WireError): ErrorInfo {
  const status = Number(found.code);
  const kind = status >= 400 ? kindOfStatus(status) : (kindOfType.get(found.type ?? '') ?? 'upstream-failed');
  return describe(found, kind, wordless);
}

/** The kinds for which a server's words about a too long prompt are believed: not when it is overloaded. */
const mayBeTooLong: ReadonlySet<ErrorKind> = new Set(['invalid-request', 'too-large', 'upstream-failed']);

/**
 * The kinds for which a server's words about a request that does not suit its model are believed. llama.cpp and Ollama
 * report that as a failure of their own, MLX's server answers 404 to whatever goes wrong before it generates, and
 * DeepInfra 405.
 */
const mayBeUnfit: ReadonlySet<ErrorKind> = new Set(['not-found', 'method-not-allowed', 'upstream-failed']);

/** How LiteLLM and Moonshot call the error of an empty account, whatever its status. */
const accountTypes: ReadonlySet<string> = new Set(['budget_exceeded', 'exceeded_current_quota_error']);

function kindOf({ code = '', type = '', message = '' }: WireError, fallback: ErrorKind): ErrorKind {
  // A request larger than a whole minute's tokens will never pass, however long the client waits and whatever the code
  // says.
  if (fallback === 'too-large') return fallback;
  if (accountTypes.has(type)) return 'budget-exhausted';
  const kind = kindOfCode.get(code) ?? fallback;
  const isUnfit = [saysRefusedMedia, saysRefusedFeature, saysWrongOrder].some((says) => says(message));
  if (mayBeUnfit.has(kind) && isUnfit) return 'invalid-request';
  if (isOutOfMoney(kind, message)) return 'budget-exhausted';
  if (kind !== 'invalid-request') return kind;
  if (saysRefusedPlace(message)) return 'permission-denied';
  return saysRefusedKey(message) ? 'unauthenticated' : kind;
}

/** In our words: a server's own name the operator's team and key. */
const flagged: ErrorInfo = {
  kind: 'invalid-request',
  message: 'the upstream refused the content of the request by its usage rules',
  detail: 'content-filtered',
};

/** How OpenAI and Azure, Moonshot (by the type) and Qwen call the refusal of what a prompt says. */
function isFilter(word: string | undefined): boolean {
  return word === 'content_filter' || word === 'data_inspection_failed';
}

/** A code that a program may compare. Some servers send a status instead. */
const isWord = /^[a-z]\w{0,63}$/i;

function describe(found: WireError, fallback: ErrorKind, text: string): ErrorInfo {
  const kind = kindOf(found, fallback);
  if (kind === 'permission-denied' && saysFlaggedContent(found.message ?? '')) return flagged;
  if (secretive.has(kind)) return { kind, message: 'the upstream refused its credential' };
  const message = shortened(found.message || text);
  const { code, param } = found;
  const blamed = param === undefined ? {} : { param };
  const detail = { kind, message, ...extend(FORMAT, blamed) };
  if (found.code === 'context_length_exceeded' || (mayBeTooLong.has(kind) && saysTooLong(message))) {
    return { ...detail, kind: 'invalid-request', detail: 'context-length-exceeded' };
  }
  if (isFilter(found.code) || isFilter(found.type)) return { ...detail, detail: 'content-filtered' };
  if (found.code === 'model_not_found') return { ...detail, kind: 'not-found', detail: 'model-not-found' };
  const own = code !== undefined && isWord.test(code) ? { ...blamed, code } : blamed;
  return { ...markOverload(detail, code, found.type, message), ...extend(FORMAT, own) };
}
