import type { MeasureName } from './measures.ts';
import type { Column } from './table.ts';

/** CPU time of the bare proxy on the machine for which the goals were set. */
const whereGoalsWereSet: readonly { what: string; name: MeasureName; us: number }[] = [
  { what: 'per request', name: 'stackPerRequest', us: 17 },
  { what: 'per paced token', name: 'stackPerToken', us: 13 },
];

/**
 * How fast this machine is compared to the one of the goals, by what the bare proxy costs on both. The goals are not
 * scaled by it. Absent if the proxy was not measured.
 */
export function compareMachines(columns: readonly Column[]): string | undefined {
  const proxy = columns.find(({ name }) => name === 'nginx')?.measures;
  const parts = whereGoalsWereSet.flatMap(({ what, name, us }) => {
    const here = proxy?.[name];
    if (here === undefined) return [];
    return [`${here.toFixed(1)} µs ${what} here, ${us} there (× ${(here / us).toFixed(2)})`];
  });
  if (parts.length === 0) return undefined;
  return `This machine beside that of the goals, by the CPU time of nginx: ${parts.join('; ')}.`;
}
