import type { Sample } from '../bench-run.ts';

/** Which measurements had failures or a client at its limit, and how many: a goal that they meet is met by chance. */
export function describeDoubts(samples: readonly Pick<Sample, 'scenario' | 'findings'>[]): string {
  const doubtful = samples.filter(({ findings }) => findings.length > 0);
  if (doubtful.length === 0) return '';
  const scenarios = [...new Set(doubtful.map(({ scenario }) => scenario))].join(', ');
  return `${doubtful.length} of ${samples.length} measurements are in doubt (${scenarios}): their findings say why.`;
}
