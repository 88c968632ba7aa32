import type { ErrorInfo } from '@sluice/canonical';

/** It was tried until it had taken several workers down, or might have. */
export const poisonous: ErrorInfo = {
  kind: 'upstream-failed',
  message: 'the request was lost with several workers',
  detail: 'poison',
  retryable: false,
};

/** What was delivered can't be gone on with. */
export const lostMidway: ErrorInfo = {
  kind: 'unavailable',
  message: 'the worker that generated the answer was lost',
  detail: 'worker-lost',
};

/** The client paused until its worker kept no more: a retry would meet the same reader. */
export const readTooSlowly: ErrorInfo = {
  kind: 'unavailable',
  message: 'the answer was read too slowly, and the rest of it is not kept any more',
  retryable: false,
};
