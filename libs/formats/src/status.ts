import type { ErrorInfo, ErrorKind } from '@sluice/canonical';

/** The HTTP status of every kind of error. 408 and 409 are avoided: SDKs retry them. */
export const statusOf: Readonly<Record<ErrorKind, number>> = {
  'invalid-request': 400,
  unauthenticated: 401,
  'budget-exhausted': 402,
  'permission-denied': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'too-large': 413,
  'unsupported-media': 415,
  'rate-limited': 429,
  saturated: 429,
  cancelled: 499,
  internal: 500,
  'upstream-failed': 502,
  unavailable: 503,
  'deadline-exceeded': 504,
};

const final: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'budget-exhausted', 'permission-denied']);
const waits: ReadonlySet<ErrorKind> = new Set(['rate-limited', 'saturated', 'unavailable']);

/**
 * The headers that steer a client's retries. `retry-after` is whole seconds from 1 to 60 because SDKs ignore
 * longer ones; `x-should-retry: false` stops clients that would otherwise retry a wrong key for a minute. A server that
 * was asked in vain has both: it may be there later, and not every client knows the latter.
 */
export function retryHeaders(error: ErrorInfo): Record<string, string> {
  const headers: Record<string, string> = {};
  const isFinal = error.retryable === false || final.has(error.kind);
  if (isFinal) headers['x-should-retry'] = 'false';
  if (isFinal ? error.kind === 'unavailable' : waits.has(error.kind) || error.retryAfterMs !== undefined) {
    headers['retry-after'] = String(retryAfterSeconds(error));
  }
  return headers;
}

/** Whole seconds, 1 to 60; 1 where no estimate is known. */
export function retryAfterSeconds(error: ErrorInfo): number {
  return Math.min(60, Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
}
