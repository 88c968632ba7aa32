import type { Column } from './table.ts';

/** CPU microseconds of the bare proxy per request, on the machine for which the goals were set. */
const proxyRequestUs = 17;

/**
 * How fast this machine is compared to the one of the goals, by what a request costs the bare proxy on both. The goals
 * are not scaled by it. A paced token is no yardstick: what it costs the proxy depends on how fast the fake upstream
 * writes (11.4 → 8.0 µs when that got cheaper). Absent if the proxy was not measured.
 */
export function compareMachines(columns: readonly Column[]): string | undefined {
  const here = columns.find(({ name }) => name === 'nginx')?.measures.stackPerRequest;
  if (here === undefined) return undefined;
  const factor = (here / proxyRequestUs).toFixed(2);
  return `This machine beside that of the goals, by the CPU time of nginx per request: ${here.toFixed(1)} µs here, ${proxyRequestUs} there (× ${factor}).`;
}
