import type { ErrorInfo, ErrorKind } from '@sluice/canonical';
import type { HttpHeaders } from '../codec.ts';

/**
 * Statuses that mean more than their class. Those that blame our own call (407, 409, 431) are not the client's fault.
 * Neither is a generation that failed (424 of Text Generation Inference and Bedrock) or found no room (498 of Groq).
 */
const kinds: Readonly<Record<number, ErrorKind>> = {
  401: 'unauthenticated',
  402: 'budget-exhausted',
  403: 'permission-denied',
  404: 'not-found',
  405: 'method-not-allowed',
  407: 'unauthenticated',
  408: 'deadline-exceeded',
  409: 'upstream-failed',
  413: 'too-large',
  415: 'unsupported-media',
  424: 'upstream-failed',
  429: 'rate-limited',
  431: 'upstream-failed',
  498: 'rate-limited',
  499: 'upstream-failed',
  503: 'unavailable',
  504: 'deadline-exceeded',
  529: 'unavailable',
};

/**
 * The kind that an upstream's status means if its body says nothing better: the reverse of `statusOf`, for any number.
 */
export function kindOfStatus(status: number): ErrorKind {
  return kinds[status] ?? (status >= 400 && status < 500 ? 'invalid-request' : 'upstream-failed');
}

/** Marks the failure of a server that is unavailable because of overload, if its status, a code or its words say so. */
export function markOverload(error: ErrorInfo, ...said: readonly (string | number | undefined)[]): ErrorInfo {
  if (error.kind !== 'unavailable' || !said.some((word) => /^529$|overload/i.test(String(word))))
    return error;
  return { ...error, detail: 'overloaded' };
}

/** What an upstream's headers advise about a retry. */
export function readRetryAdvice(headers: HttpHeaders): Pick<ErrorInfo, 'retryAfterMs' | 'retryable'> {
  const seconds = readNumber(headers['retry-after']);
  const retryAfterMs =
    readNumber(headers['retry-after-ms']) ?? (seconds === undefined ? readDate(headers) : seconds * 1000);
  const shouldRetry = first(headers['x-should-retry']);
  return {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...((shouldRetry === 'true' || shouldRetry === 'false') && { retryable: shouldRetry === 'true' }),
  };
}

/** A date in `retry-after` is by the server's own clock, as `date` is, so no other clock is needed. */
function readDate(headers: HttpHeaders): number | undefined {
  const waitMs = Date.parse(first(headers['retry-after']) ?? '') - Date.parse(first(headers.date) ?? '');
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : undefined;
}

function readNumber(value: string | string[] | undefined): number | undefined {
  const text = first(value)?.trim();
  const number = text ? Number(text) : Number.NaN;
  return Number.isFinite(number) && number >= 0 ? number : undefined;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
