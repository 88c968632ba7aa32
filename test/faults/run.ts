import { dumpRedis, sampleBudgets, settleDown, sumCounters } from './aftermath.ts';
import { runLoad } from './clients/load.ts';
import type { Installation } from './installation/installation.ts';
import type { FaultKind } from './nemesis/fault-kind.ts';
import { Nemesis } from './nemesis/nemesis.ts';
import type { BudgetSample, FaultRecord, Heaps, Leftovers, Observation, RunLog } from './observation.ts';
import { canaryPrompt, type RequestPlan } from './plan.ts';
import { createRandom } from './random.ts';

export interface RunOptions {
  plans: readonly RequestPlan[];
  concurrency: number;
  kinds: readonly FaultKind[];
  /** How many faults to inject; default: as many as fit into the load. */
  faults?: number;
  lanes?: number;
  seed: number;
  /** Repeats the same plans under new indices until `faults` have happened; default false. */
  repeatUntilFaultsAreOver?: boolean;
  /**
   * A load that follows, under faults of which no process dies; heaps are measured before and after it. It is preceded
   * by a warm-up, since what a process needs once is no leak. Absent: heaps are not measured.
   */
  heapLoad?: HeapLoad;
}

export interface HeapLoad {
  warmUp: readonly RequestPlan[];
  plans: readonly RequestPlan[];
  kinds: readonly FaultKind[];
}

const budgetSampleMs = 1_000;

/** Runs load and faults at the same time, waits until all is quiet, and returns everything that the checker needs. */
export async function runUnderFaults(installation: Installation, options: RunOptions): Promise<RunLog> {
  const { plans, concurrency, kinds, seed, faults, lanes = 1 } = options;
  const nemesis = new Nemesis({
    installation,
    random: createRandom(seed),
    kinds,
    lanes,
    ...(faults !== undefined && { limit: faults }),
  });
  const budgets: BudgetSample[] = [];
  const sample = async (): Promise<void> => {
    // Redis is away now and then; samples that fail are left out.
    budgets.push(...(await sampleBudgets(installation).catch(() => [])));
  };
  const sampling = setInterval(() => void sample(), budgetSampleMs);
  if (kinds.length > 0) nemesis.start();
  const isOver = (): boolean => options.repeatUntilFaultsAreOver !== true || nemesis.isDone;
  const observations = await runLoad(installation, { plans: repeated(plans, isOver), concurrency });
  await nemesis.stop();
  let leftovers = await settleDown(installation);
  let heaps: Heaps | undefined;
  if (options.heapLoad) {
    const under = await measureHeaps(installation, options, options.heapLoad);
    observations.push(...under.observations);
    nemesis.faults.push(...under.faults);
    ({ heaps, leftovers } = under);
  }
  clearInterval(sampling);
  await sample();
  const metrics = await Promise.all(installation.members.map((member) => member.metricsTexts()));
  return {
    deadlineMs: installation.deadlineMs,
    observations,
    faults: nemesis.faults,
    upstreamRuns: [...installation.upstream.runs],
    lines: installation.members.flatMap((member) => member.lines),
    counters: await sumCounters(installation),
    leftovers,
    budgets,
    lostCharges: [...installation.lostCharges],
    ...(heaps && { heaps }),
    canaries: [
      { what: 'a prompt', text: canaryPrompt },
      ...[...installation.credentials].map((text) => ({ what: 'a credential', text })),
    ],
    haystacks: [
      { where: 'the metrics', text: metrics.flat().join('\n') },
      { where: 'Redis', text: await dumpRedis(installation.operator) },
    ],
  };
}

/** Measures the heaps before and after a load that all processes survive. */
async function measureHeaps(
  installation: Installation,
  { concurrency, seed }: RunOptions,
  { warmUp, plans, kinds }: HeapLoad,
): Promise<{ heaps: Heaps; observations: Observation[]; faults: FaultRecord[]; leftovers: Leftovers }> {
  const { heaps: gauge, members } = installation;
  const warm = await runLoad(installation, { plans: warmUp, concurrency });
  await settleDown(installation);
  const before = await gauge.sample(members);
  const nemesis = new Nemesis({ installation, random: createRandom(seed + 1), kinds });
  nemesis.start();
  const observations = [...warm, ...(await runLoad(installation, { plans, concurrency }))];
  await nemesis.stop();
  const leftovers = await settleDown(installation);
  const after = await gauge.sample(members);
  return { heaps: { before, after }, observations, faults: nemesis.faults, leftovers };
}

/** Repeats the plans, with new indices and so with new texts, until `isOver`. */
function* repeated(plans: readonly RequestPlan[], isOver: () => boolean): Generator<RequestPlan> {
  yield* plans;
  for (let round = 1; !isOver(); round += 1)
    for (const plan of plans) {
      if (isOver()) return;
      yield { ...plan, index: plan.index + round * plans.length };
    }
}
