import { isComplete } from '../checker/check-answers.ts';
import { formatFailures } from '../checker/endings.ts';
import { type FailoverBench, startClusterBench, startSentinelBench } from '../failover.ts';
import type { Figure } from '../figure.ts';
import type { Observation } from '../observation.ts';
import { formatMs, percentile } from '../percentile.ts';

/** Topologies of Redis: what the table calls each, and how to start it. */
const benches = {
  'Sentinel failover': startSentinelBench,
  'failover of each master of a Cluster in turn': startClusterBench,
} as const;

/** Kills masters by SIGKILL, one after the other, while streams are open. */
export async function measureFailovers(rounds: number, streamsEach: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, start] of Object.entries(benches)) figures.push(await measure(name, start));
  return figures;

  async function measure(name: string, start: () => Promise<FailoverBench>): Promise<Figure> {
    await using stack = new AsyncDisposableStack();
    const bench = await start();
    stack.defer(() => bench.stop());
    const streams: Observation[] = [];
    const served: number[] = [];
    const pauses: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const failover = await bench.failOver(streamsEach);
      streams.push(...failover.streams);
      served.push(failover.servedAfterMs);
      pauses.push(failover.longestPauseMs);
    }
    const share = streams.filter(isComplete).length / streams.length;
    const most = (all: readonly number[]): string => formatMs(percentile(all, 1));
    return {
      test: `${name}: ${rounds} under ${streams.length} streams`,
      target: '≥ 99 % complete',
      measured: `${(100 * share).toFixed(2)} % complete${formatFailures(streams)}, a new request served after at most ${most(served)}, no stream silent for more than ${most(pauses)}`,
      isMet: share >= 0.99,
    };
  }
}
