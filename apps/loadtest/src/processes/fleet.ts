import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import type { Clock } from '../clock.ts';
import type { Interval } from '../measures/recorder.ts';
import { runShard, type ShardPlan, type ShardResult } from './shard.ts';
import type { FromShard, ToShard } from './shard-process.ts';

/** Where a fleet reports to. */
export interface FleetOptions {
  clock: Clock;
  /** Called with each process's part of each second. */
  onInterval(interval: Interval, process: number): void;
  /** A process has ended or died: its parts of further seconds will not come. */
  onEnd(process: number): void;
  signal: AbortSignal;
}

/** A run without the parts that differ per process. */
export type FleetPlan = Omit<ShardPlan, 'share' | 'startAt'>;

/** What a fleet measured. */
export interface FleetResult {
  shards: ShardResult[];
  /** Which processes died, in words. */
  losses: string[];
}

const bootMs = 50;

/**
 * Runs a load test in as many processes as the scenario says; a single one is this process. If one of several dies,
 * what the others measured is kept. Throws if none is left.
 */
export async function runFleet(plan: FleetPlan, options: FleetOptions): Promise<FleetResult> {
  const of = plan.scenario.processes;
  if (of === 1) {
    const startAt = options.clock.now() + bootMs;
    const { clock, signal } = options;
    const onInterval = (interval: Interval) => options.onInterval(interval, 0);
    const share = { index: 0, of };
    const shard = await runShard({ ...plan, share, startAt }, { clock, signal, onInterval });
    return { shards: [shard], losses: [] };
  }
  const shards = Array.from({ length: of }, (_, index) => new ShardChild(index, options));
  try {
    await Promise.all(shards.map((shard) => shard.ready));
    const startAt = options.clock.now() + bootMs;
    const runs = shards.map((shard, index) => shard.run({ ...plan, share: { index, of }, startAt }));
    runs.forEach((run, index) => {
      const end = () => options.onEnd(index);
      run.then(end, end);
    });
    const outcomes = await Promise.allSettled(runs);
    const results = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    // All have failed: rejects with the reason of the first.
    if (results.length === 0) await Promise.all(runs);
    const losses = outcomes.flatMap((each, at) =>
      each.status === 'fulfilled'
        ? []
        : [`client process ${at + 1} of ${of}: ${messageOf(each.reason)}; what it measured is lost`],
    );
    return { shards: results, losses };
  } finally {
    for (const shard of shards) shard.close();
  }
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : 'unknown';
}

/** One child process and its messages. */
class ShardChild {
  readonly ready: Promise<void>;
  private readonly index: number;
  private readonly child: ChildProcess;
  private readonly options: FleetOptions;
  private readonly started = Promise.withResolvers<void>();
  private readonly finished = Promise.withResolvers<ShardResult>();
  private readonly stop = () => this.tell({ type: 'stop' });

  constructor(index: number, options: FleetOptions) {
    this.index = index;
    this.options = options;
    this.ready = this.started.promise;
    // A process may fail before anybody waits for its result.
    this.finished.promise.catch(() => {});
    this.child = fork(fileURLToPath(new URL('./shard-process.ts', import.meta.url)), {
      serialization: 'advanced',
      // A process group of its own: while it starts, before it handles signals, a terminal's interrupt would end it.
      detached: true,
    });
    this.child.on('message', (message: FromShard) => this.hear(message));
    this.child.on('exit', () => this.fail('a client process ended early'));
    this.child.on('error', () => this.fail('a client process did not start'));
    options.signal.addEventListener('abort', this.stop, { once: true });
  }

  run(plan: ShardPlan): Promise<ShardResult> {
    this.tell({ type: 'run', plan });
    if (this.options.signal.aborted) this.stop();
    return this.finished.promise;
  }

  close(): void {
    this.options.signal.removeEventListener('abort', this.stop);
    // It ignores other signals, and has sent its result by now.
    this.child.kill('SIGKILL');
  }

  private hear(message: FromShard): void {
    if (message.type === 'ready') this.started.resolve();
    else if (message.type === 'interval') this.options.onInterval(message.interval, this.index);
    else if (message.type === 'result') this.finished.resolve(message.result);
    else this.fail(message.message);
  }

  private fail(message: string): void {
    const error = new SluiceError('internal', message);
    this.started.reject(error);
    this.finished.reject(error);
  }

  private tell(message: ToShard): void {
    if (this.child.connected) this.child.send(message);
  }
}
