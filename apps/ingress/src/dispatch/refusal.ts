import type { ErrorEvent, ErrorInfo } from '@sluice/canonical';

/** How often an engine may be asked that is not available. */
const refusalLimit = 3;
/** An engine that names a longer wait than this is not asked before; whether to wait is the client's affair. */
const soonMs = 1_000;

/** Whether an engine that refused to begin this attempt may be asked again at once. */
export function mayBeAskedAgain(error: ErrorInfo, attempt: number): boolean {
  return attempt < refusalLimit && error.retryable !== false && !asksToWait(error);
}

/** Whether an attempt that ended so says that the engine has done nothing for it. */
export function costsNothing({ usage }: ErrorEvent): boolean {
  return usage?.inputTokens === 0 && usage.outputTokens === 0;
}

/** The refusal as the client hears it: it need not repeat what we have tried several times. */
export function lastRefusal(event: ErrorEvent): ErrorEvent {
  return asksToWait(event.error) ? event : { ...event, error: { ...event.error, retryable: false } };
}

function asksToWait({ retryAfterMs = 0 }: ErrorInfo): boolean {
  return retryAfterMs > soonMs;
}
