import type { ErrorInfo, ErrorKind } from '@sluice/canonical';

/** The HTTP status of every kind of error. 408 and 409 are avoided, because SDKs retry them. */
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

/** The same call, made again at once or soon, fails again. */
const finalKinds: ReadonlySet<ErrorKind> = new Set([
  'unauthenticated',
  'budget-exhausted',
  'permission-denied',
]);
/** The same call may succeed after a wait. */
const waitingKinds: ReadonlySet<ErrorKind> = new Set(['rate-limited', 'saturated', 'unavailable']);
/** Even where it is final for this call, the reason may be gone some day. */
const passingKinds: ReadonlySet<ErrorKind> = new Set(['unavailable', 'budget-exhausted']);

/**
 * The headers that steer a client's retries. `retry-after` is 1 to 60 whole seconds, because SDKs ignore longer waits.
 * `x-should-retry: false` stops clients that would otherwise retry a wrong key for a minute. A server that we already
 * asked in vain gets both: it may be back later, and not every client knows the second header. The same holds for a
 * budget that is renewed.
 */
export function retryHeaders(error: ErrorInfo): Record<string, string> {
  const headers: Record<string, string> = {};
  const { kind, retryable, retryAfterMs } = error;
  const isFinal = retryable === false || finalKinds.has(kind);
  if (isFinal) headers['x-should-retry'] = 'false';
  if (waitingKinds.has(kind) || retryAfterMs !== undefined) {
    if (!isFinal || passingKinds.has(kind)) headers['retry-after'] = String(retryAfterSeconds(error));
  }
  return headers;
}

/**
 * Whole seconds from 1 to 60; 1 without an estimate. For a budget it is the full time, however long: no client waits
 * for that by itself.
 */
export function retryAfterSeconds({ kind, retryAfterMs = 1000 }: ErrorInfo): number {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return kind === 'budget-exhausted' ? seconds : Math.min(60, seconds);
}
