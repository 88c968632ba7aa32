/** The part of a load that determines how long it lasts. */
type Lasting =
  | { kind: 'trace' }
  | { kind: 'closed' }
  | {
      kind: 'open';
      profile: { kind: 'constant' } | { kind: 'ramp'; overMs: number } | { kind: 'steps'; steps: Steps };
    };
type Steps = readonly { forMs: number }[];

const usualMs = 30_000;

/** How long a load lasts if no duration is given. Infinite for a trace, until `fitDuration` has read it. */
export function naturalDurationMs(load: Lasting): number {
  if (load.kind === 'trace') return Number.POSITIVE_INFINITY;
  if (load.kind === 'closed' || load.profile.kind === 'constant') return usualMs;
  return load.profile.kind === 'ramp' ? load.profile.overMs : stepsMs(load.profile.steps);
}

export function stepsMs(steps: Steps): number {
  return steps.reduce((sum, { forMs }) => sum + forMs, 0);
}
