import { writeFile } from 'node:fs/promises';
import { isComplete } from '../checker/check-answers.ts';
import { chargesOf } from '../checker/check-charges.ts';
import { check } from '../checker/checker.ts';
import { describeEnding } from '../checker/endings.ts';
import { faultsDuring } from '../checker/explain.ts';
import { tally } from '../checker/tally.ts';
import type { Violation, ViolationKind } from '../checker/violation.ts';
import { replayThroughSdks } from '../clients/sdk-replay.ts';
import type { Figure } from '../figure.ts';
import { Installation } from '../installation/installation.ts';
import type { FaultKind } from '../nemesis/fault-kind.ts';
import { allFaults, survivableFaults, workerFaults } from '../nemesis/fault-kinds.ts';
import type { RunLog } from '../observation.ts';
import { planWorkload, type WorkloadOptions } from '../plan.ts';
import { type HeapLoad, runUnderFaults } from '../run.ts';

export interface FaultRunOptions {
  requests: number;
  faults: number;
  seed: number;
  concurrency: number;
  /** Where the whole log is written as JSON; empty: nowhere. */
  logTo: string;
  /** As `InstallationOptions.checkouts`. */
  checkouts: readonly string[];
  print(line: string): void;
}

const keepsData = ['--appendonly', 'yes', '--appendfsync', 'always', '--enable-debug-command', 'yes'];
/** These faults do not touch Redis, so it need not persist; a slow disk could look like a lost worker. */
const keepsNothing = ['--appendonly', 'no'];
/** More than any tenant spends: the run is about charges, not about refusals. */
const budget = 50_000_000;
/** Beyond the indices of the requests of any run. */
const heapLoadIndex = 1_000_000;

/** Injects all faults between all processes under the whole workload. */
export async function measureAllFaults(options: FaultRunOptions): Promise<Figure[]> {
  const { log, violations } = await runOnce(options, allFaults, { ingresses: 2, workers: 2, lanes: 2 });
  const kinds = new Set(log.faults.map(({ kind }) => kind));
  const count = (...wanted: ViolationKind[]): number =>
    violations.filter(({ kind }) => wanted.includes(kind)).length;
  const bad = {
    truncated: count('truncated', 'gap'),
    duplicated: count('duplicated', 'second-terminal', 'event-after-end', 'too-long'),
    foreign: count('foreign'),
    leaked: count('leaked', 'not-stopped', 'canary'),
    'charged twice': count('charged-twice', 'over-budget'),
  };
  const others = violations.length - Object.values(bad).reduce((sum, number) => sum + number, 0);
  return [
    {
      test: `${log.observations.length} requests under ${log.faults.length} faults of ${kinds.size} kinds`,
      target: '0 truncated, 0 duplicated, 0 foreign, 0 leaked, 0 charged twice',
      measured: [
        ...Object.entries(bad).map(([what, number]) => `${number} ${what}`),
        `${others} other violations`,
        `${completeShare(log)} complete`,
      ].join(', '),
      isMet: violations.length === 0,
    },
  ];
}

/** Kills and freezes worker processes, one at a time, with an engine that resumes exactly. */
export async function measureWorkerFaults(options: FaultRunOptions): Promise<Figure[]> {
  const { log, violations } = await runOnce(options, workerFaults, { ingresses: 1, workers: 3, lanes: 1 });
  const whole = log.observations.filter(isComplete).length / log.observations.length;
  return [
    {
      test: `worker faults only (${log.faults.length} under ${log.observations.length} requests)`,
      target: '≥ 99.9 % complete',
      measured: `${completeShare(log)} complete, ${violations.length} violations`,
      isMet: whole >= 0.999 && violations.length === 0,
    },
  ];
}

async function runOnce(
  { requests, faults, seed, concurrency, logTo, checkouts, print }: FaultRunOptions,
  kinds: readonly FaultKind[],
  shape: { ingresses: number; workers: number; lanes: number },
): Promise<{ log: RunLog; violations: Violation[] }> {
  const isOnlyWorkers = kinds === workerFaults;
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({
    ...shape,
    checkouts,
    budget,
    redisArguments: isOnlyWorkers ? keepsNothing : keepsData,
  });
  stack.defer(() => installation.stop());
  const plans = planWorkload({
    requests,
    seed,
    tenants: 50,
    ingresses: shape.ingresses,
    ...(isOnlyWorkers && { upstreamShare: 0, hasMisbehaviour: false }),
    ...shareOf(checkouts),
  });
  const log = await runUnderFaults(installation, {
    ...{ plans, concurrency, kinds, seed, faults, lanes: shape.lanes },
    // The load lasts as long as the faults do.
    repeatUntilFaultsAreOver: true,
    ...(!isOnlyWorkers && {
      heapLoad: planHeapLoad({ requests: Math.ceil(requests / 10), seed, checkouts }),
    }),
  });
  if (logTo !== '') await writeFile(logTo, JSON.stringify(log));
  const violations = [...check(log), ...(await replayThroughSdks(log.observations))];
  for (const line of [...describe(log), ...describePower(log)]) print(line);
  for (const violation of violations.slice(0, 50)) print(`VIOLATION ${JSON.stringify(violation)}`);
  return { log, violations };
}

/** The load around which heaps are compared, and a warm-up of the same size before it. */
export function planHeapLoad({
  requests,
  seed,
  checkouts = [],
}: Pick<FaultRunOptions, 'requests' | 'seed'> & { checkouts?: readonly string[] }): HeapLoad {
  const shape = { requests, seed, tenants: 50, ingresses: 2, ...shareOf(checkouts) };
  return {
    warmUp: planWorkload({ ...shape, firstIndex: heapLoadIndex }),
    plans: planWorkload({ ...shape, firstIndex: heapLoadIndex + requests }),
    kinds: survivableFaults,
  };
}

/** An installation of several versions has no model for which another one stands in. */
function shareOf(checkouts: readonly string[]): Pick<WorkloadOptions, 'eitherShare'> {
  return checkouts.length > 0 ? { eitherShare: 0 } : {};
}

/** The share of complete answers among requests that found a server and whose client waited. */
function completeShare({ observations }: RunLog): string {
  const counted = observations.filter(
    ({ end, plan }) => end !== 'left' && end !== 'refused' && !plan.upstream,
  );
  return `${((100 * counted.filter(isComplete).length) / Math.max(1, counted.length)).toFixed(2)} %`;
}

function describe({ observations, faults }: RunLog): string[] {
  const outcomes = tally(
    observations.map((observation) => (isComplete(observation) ? 'complete' : describeEnding(observation))),
  );
  return [
    ...outcomes.map(([name, count]) => `  ${count} × ${name}`),
    `  faults: ${tally(faults.map(({ kind }) => kind))
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  ];
}

/** Describes what this run could have missed, and so what its zeros are worth. */
function describePower(log: RunLog): string[] {
  const charges = chargesOf(log);
  const sum = (pick: (charge: (typeof charges)[number]) => number): number =>
    charges.reduce((total, charge) => total + pick(charge), 0);
  const calm = log.observations.filter((observation) => faultsDuring(observation, log).length === 0).length;
  return [
    `  charges: ${sum(({ spent }) => spent)} tokens booked, by the answers ${sum(({ least }) => least)} to ${sum(({ most }) => most)}`,
    ...describeHeaps(log),
    `  requests with no fault around, whose failure nothing would have excused: ${calm} of ${log.observations.length}`,
  ];
}

function describeHeaps({ heaps }: RunLog): string[] {
  if (!heaps) return [];
  const inMegabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const each = heaps.after.map(({ process, pid, bytes }) => {
    const before = heaps.before.find((sample) => sample.pid === pid)?.bytes ?? 0;
    return `${process} ${inMegabytes(before)} to ${inMegabytes(bytes)} MB`;
  });
  return [`  heaps at rest, before and after a load of their own: ${each.join(', ')}`];
}
