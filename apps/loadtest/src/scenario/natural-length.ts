/** What of a load says how long it lasts. */
type Lasting =
  | { kind: 'trace' }
  | { kind: 'closed' }
  | {
      kind: 'open';
      profile: { kind: 'constant' } | { kind: 'ramp'; overMs: number } | { kind: 'steps'; steps: Steps };
    };
type Steps = readonly { forMs: number }[];

const usualMs = 30_000;

/** How long a load lasts where nobody says it. Infinite for a trace: `fitDuration` knows once it is read. */
export function naturalDurationMs(load: Lasting): number {
  if (load.kind === 'trace') return Number.POSITIVE_INFINITY;
  if (load.kind === 'closed' || load.profile.kind === 'constant') return usualMs;
  return load.profile.kind === 'ramp' ? load.profile.overMs : stepsMs(load.profile.steps);
}

export function stepsMs(steps: Steps): number {
  return steps.reduce((sum, { forMs }) => sum + forMs, 0);
}
