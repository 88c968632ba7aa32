import type { ErrorEvent, ErrorInfo } from '@sluice/canonical';

/** How many attempts a request has while engines refuse it as unavailable. */
const refusalLimit = 3;
/** If an engine names a longer wait than this, no attempt follows: whether to wait is for the client to decide. */
const soonMs = 1_000;

/** Whether another attempt may follow at once after an engine refused to begin this one. */
export function mayBeAskedAgain(error: ErrorInfo, attempt: number): boolean {
  return attempt < refusalLimit && error.retryable !== false && !asksToWait(error);
}

/** Whether the attempt reports, with its error, that the engine has spent no tokens on it. */
export function costsNothing({ usage }: ErrorEvent): boolean {
  return usage?.inputTokens === 0 && usage.outputTokens === 0;
}

/**
 * The refusal as the client gets it: marked as not retryable, because we have already retried, unless it names a wait.
 */
export function lastRefusal(event: ErrorEvent): ErrorEvent {
  return asksToWait(event.error) ? event : { ...event, error: { ...event.error, retryable: false } };
}

function asksToWait({ retryAfterMs = 0 }: ErrorInfo): boolean {
  return retryAfterMs > soonMs;
}
