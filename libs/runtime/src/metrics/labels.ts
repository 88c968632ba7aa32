import type { ErrorKind } from '@sluice/canonical';

/** How a request or generation ended: successfully, with an error of this kind, or with its connection cut. */
export type Outcome = 'ok' | 'cut' | ErrorKind;

const outcomeRecord: Readonly<Record<Outcome, true>> = {
  ok: true,
  cut: true,
  'invalid-request': true,
  unauthenticated: true,
  'budget-exhausted': true,
  'permission-denied': true,
  'not-found': true,
  'method-not-allowed': true,
  'too-large': true,
  'unsupported-media': true,
  'rate-limited': true,
  saturated: true,
  cancelled: true,
  'deadline-exceeded': true,
  'upstream-failed': true,
  unavailable: true,
  internal: true,
};
/** Every outcome. They are the keys of a total record, whose type names them all. */
export const outcomes = Object.keys(outcomeRecord) as Outcome[];

/** Why a request got another attempt. */
export const attemptReasons = ['exited', 'silent', 'unclaimed', 'drained', 'frames-gone', 'failed'] as const;
/** One of these reasons. */
export type AttemptReason = (typeof attemptReasons)[number];

/**
 * Why a model gave no answer, so that a fallback of it was turned to. `other`: what only another fallback is turned to
 * for, as a limit of the caller's or a field that it does not take.
 */
export const fallbackReasons = [
  'saturated',
  'unavailable',
  'upstream-failed',
  'rate-limited',
  'other',
] as const;

/** Why a frame was not delivered. */
export const droppedFrameReasons = ['old-attempt', 'duplicate', 'unknown', 'paused'] as const;
/** One of these reasons. */
export type DroppedFrameReason = (typeof droppedFrameReasons)[number];

/** Why frames were asked for again: they did not come, or were dropped because their client reads slowly. */
export const resendReasons = ['missing', 'paused'] as const;
/** One of these reasons. */
export type ResendReason = (typeof resendReasons)[number];

/** How a fetch of media by URL ended. `refused`: the address must not be fetched, which clients see as unreachable. */
export const mediaFetchOutcomes = [
  'ok',
  'refused',
  'unreachable',
  'bad-status',
  'wrong-type',
  'too-large',
  'timed-out',
  'stopped',
] as const;
/** One of these outcomes. */
export type MediaFetchOutcome = (typeof mediaFetchOutcomes)[number];

/** The only sources of open label values: never a tenant, a key, a path or a name that a client has made up. */
export const format = { from: 'the registered formats' } as const;
export const model = { from: 'the configured model ids' } as const;
export const pool = { from: 'the configured pools' } as const;
export const limit = {
  from: 'the registered limits, and saturation, workers, memory, redis, overload, prompts, bodies',
} as const;
export const version = { from: 'the version that runs' } as const;
