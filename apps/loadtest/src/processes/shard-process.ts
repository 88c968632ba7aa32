import { yieldToMainThread } from '@sluice/runtime';
import { createHostClock } from '../clock.ts';
import type { Interval } from '../measures/recorder.ts';
import { runShard, type ShardPlan, type ShardResult } from './shard.ts';

/** From the parent to a shard's process. */
export type ToShard = { type: 'run'; plan: ShardPlan } | { type: 'stop' };
/** From a shard's process to its parent. */
export type FromShard =
  | { type: 'ready' }
  | { type: 'interval'; interval: Interval }
  | { type: 'result'; result: ShardResult }
  | { type: 'failed'; message: string };

const stopping = new AbortController();

function tell(message: FromShard): void {
  // Errors are ignored: if the parent is gone, there is nobody to report to.
  process.send?.(message, undefined, undefined, () => {});
}

async function run(plan: ShardPlan): Promise<void> {
  try {
    const onInterval = (interval: Interval) => tell({ type: 'interval', interval });
    const result = await runShard(plan, { clock: createHostClock(), onInterval, signal: stopping.signal });
    tell({ type: 'result', result });
  } catch (error) {
    tell({ type: 'failed', message: error instanceof Error ? error.message : 'unknown' });
  }
  if (process.connected) process.disconnect();
}

// A supervisor may signal all processes of a group. The parent alone reacts, and tells its shards.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => stopping.abort());
process.on('message', (message: ToShard) => {
  if (message.type === 'stop') stopping.abort();
  else void run(message.plan);
});
yieldToMainThread();
tell({ type: 'ready' });
