import type { Contender, ContenderKind } from './contenders/contender.ts';
import { models } from './contenders/models.ts';
import type { Upstream } from './contenders/upstream.ts';
import type { LoadCost, LoadOutcome, LoadPlan } from './load.ts';
import type { Measures } from './results/measures.ts';

/** What a scenario measures with. */
export interface Bench {
  readonly upstream: Upstream;
  /** Scales durations: 1 for a reference run, less for a quick look. */
  readonly pace: number;
  /** The most idle streams that the limit of open files, and the pace, allow here. */
  readonly mostIdle: number;
  /** Runs a load and records failures, a client at its limit, and what others used of the machine. */
  load(contender: Contender, plan: LoadPlan): Promise<LoadOutcome>;
  /**
   * Runs the same load against several contenders at once, or repeatedly against one. Tells only what that cost, so a
   * client at its limit is not recorded.
   */
  loadAll(contenders: readonly Contender[], plan: LoadPlan): Promise<LoadCost>;
}

/** One kind of load, measured once per round and contender. */
export interface Scenario {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** Which contenders take part. */
  readonly kinds: readonly ContenderKind[];
  /** Whether it starts processes of its own, and warms them up, instead of using those that stand. */
  readonly startsOthers?: true;
  measure(contender: Contender, bench: Bench): Promise<Measures>;
}

/**
 * Runs requests until a contender's code is compiled and its connections are open. In its first five seconds a request
 * costs a fresh gateway twice as much, and until the fifteenth a tenth more. Several processes share the requests, so
 * they need as many times as long.
 */
export async function warmUp(contender: Contender, bench: Bench, processes = 1): Promise<void> {
  const durationMs = (1000 + 9000 * bench.pace) * processes;
  const load = { users: 64, warmupMs: 0, durationMs };
  await bench.load(contender, { ...load, model: models.one, single: true });
  await bench.load(contender, { ...load, model: models.few });
}

/**
 * Lends further, warm contenders of the same kind, and stops them afterwards. Rejects if the contender cannot start
 * another.
 */
export async function withOthers<Found>(
  contender: Contender,
  bench: Bench,
  use: (start: (processes?: number) => Promise<Contender>) => Promise<Found>,
): Promise<Found> {
  const started: Contender[] = [];
  try {
    return await use(async (processes = 1) => {
      const other = await contender.startAnother?.({ processes });
      if (!other) throw new Error(`another ${contender.name} can't be started`);
      started.push(other);
      await warmUp(other, bench, processes);
      return other;
    });
  } finally {
    for (const each of started) await each.stop();
  }
}

export const everyKind: readonly ContenderKind[] = ['direct', 'proxy', 'gateway', 'other'];

/** CPU microseconds of one role per unit; absent if there is no such role or nothing was done. */
export function cpuPer(outcome: LoadCost, role: string, units: number): number | undefined {
  const ms = outcome.cpu[role];
  return ms === undefined || units === 0 ? undefined : (ms * 1000) / units;
}

const stack: ReadonlySet<string> = new Set(['ingress', 'worker', 'redis', 'proxy', 'other']);

/** CPU microseconds of all of a contender's processes per unit. */
export function stackPer(outcome: LoadCost, units: number): number | undefined {
  const used = Object.entries(outcome.cpu).filter(([role]) => stack.has(role));
  if (used.length === 0 || units === 0) return undefined;
  return (used.reduce((sum, [, ms]) => sum + ms, 0) * 1000) / units;
}

/** Leaves out what could not be measured. */
export function present(values: { [Name in keyof Measures]: number | undefined }): Measures {
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  // The names are those of the argument, the values were just checked.
  return Object.fromEntries(known) as Measures;
}
