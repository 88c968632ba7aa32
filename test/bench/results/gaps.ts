import type { Sample } from '../bench-run.ts';

/**
 * Of which scenarios a contender has no figure at all, or none that another has of the same: a goal without a figure has
 * no verdict, so such a run must not look like one that held. Empty if there is no such scenario.
 */
export function describeGaps(
  samples: readonly Pick<Sample, 'scenario' | 'contender' | 'measures'>[],
  contender: string,
): string {
  const gaps = [...new Set(samples.map(({ scenario }) => scenario))].filter((scenario) => {
    const own = new Set<string>();
    const others = new Set<string>();
    let takesPart = false;
    for (const sample of samples) {
      if (sample.scenario !== scenario) continue;
      const isOwn = sample.contender === contender;
      takesPart ||= isOwn;
      for (const name of Object.keys(sample.measures)) (isOwn ? own : others).add(name);
    }
    return takesPart && (own.size === 0 || [...others].some((name) => !own.has(name)));
  });
  return gaps.length === 0
    ? ''
    : `NOT MEASURED: the ${contender} has no figure, or not all, of ${gaps.join(', ')}.`;
}
