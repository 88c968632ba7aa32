import type { ErrorInfo } from '@sluice/canonical';

/** The request has taken several workers down, or may have. */
export const poisonous: ErrorInfo = {
  kind: 'upstream-failed',
  message: 'the request was lost with several workers',
  detail: 'poison',
  retryable: false,
};

/** The worker was lost, and no other can continue what was delivered. */
export const lostMidway: ErrorInfo = {
  kind: 'unavailable',
  message: 'the worker that generated the answer was lost',
  detail: 'worker-lost',
};

/**
 * The client read so slowly that the worker no longer keeps the rest. Not retryable: the reader would be as slow again.
 */
export const readTooSlowly: ErrorInfo = {
  kind: 'unavailable',
  message: 'the answer was read too slowly, and the rest of it is not kept any more',
  retryable: false,
};
