import type { Contender } from './contenders/contender.ts';
import type { Upstream } from './contenders/upstream.ts';
import {
  type LoadCost,
  type LoadOutcome,
  type LoadPlan,
  type LoadResult,
  runLoad,
  runLoads,
} from './load.ts';
import { describeMachine, type Machine, openFilesLimit } from './machine/machine.ts';
import { type Measures, medians } from './results/measures.ts';
import { hasSettled } from './results/settled.ts';
import type { Column } from './results/table.ts';
import { type Bench, type Scenario, stackPer, warmUp } from './scenario.ts';

/** One measurement of one contender. */
export interface Sample {
  scenario: string;
  round: number;
  contender: string;
  measures: Measures;
  /** The largest shares of the machine during its loads: used by us, and by anybody else. */
  ownShare: number;
  restShare: number;
  /** Why the figures are doubtful: failures, or a client at its limit. */
  findings: string[];
}

/** All that a run found. */
export interface BenchResult {
  version: 1;
  startedAt: string;
  machine: Machine;
  rounds: number;
  pace: number;
  samples: Sample[];
  columns: Column[];
}

export interface BenchOptions {
  contenders: readonly Contender[];
  upstream: Upstream;
  scenarios: readonly Scenario[];
  rounds: number;
  /** Scales durations; 1 for a reference run. */
  pace: number;
  /** Called with what is measured next, and with each sample. */
  say(sentence: string): void;
}

/** Files that a process has open besides idle streams: sockets of other loads, libraries, logs. */
const spareFiles = 1500;
const mostIdleStreams = 20_000;

/** Measures every scenario with every contender, interleaved A B C A B C. */
export async function runBench(options: BenchOptions): Promise<BenchResult> {
  const { contenders, upstream, scenarios, rounds, pace, say } = options;
  const startedAt = new Date().toISOString();
  const samples: Sample[] = [];
  for (const contender of contenders) await warmUp(contender, new Account(upstream, pace));
  for (const scenario of scenarios) {
    const taking = contenders.filter(({ kind }) => scenario.kinds.includes(kind));
    const measure = async (contender: Contender, which: string) => {
      const title = `${scenario.title}, ${which}, ${contender.name}`;
      const account = new Account(upstream, pace);
      // If one contender can't do a scenario, its row stays empty and the run goes on.
      const measures = await scenario.measure(contender, account).catch((error: Error): Measures => {
        account.failures.push(error.message);
        say(`${title}: ${error.message}`);
        return {};
      });
      say(describe(title, measures, account));
      return { measures, account };
    };
    for (const contender of scenario.startsOthers ? [] : taking) {
      const costs: (number | undefined)[] = [];
      while (!hasSettled(costs)) {
        const { account } = await measure(contender, `warm-up ${costs.length + 1}`);
        costs.push(account.cpuPerAnswer);
      }
    }
    for (let round = 1; round <= rounds; round++) {
      for (const contender of taking) {
        const { measures, account } = await measure(contender, `round ${round}`);
        const { ownShare, restShare, findings } = account;
        samples.push({
          ...{ scenario: scenario.name, round, contender: contender.name },
          ...{ measures, ownShare, restShare, findings },
        });
      }
    }
  }
  const columns = contenders.map((contender) => ({
    name: contender.name,
    isGateway: contender.kind === 'gateway',
    measures: medians(
      samples.filter((each) => each.contender === contender.name).map((each) => each.measures),
    ),
  }));
  return { version: 1, startedAt, machine: describeMachine(), rounds, pace, samples, columns };
}

/** Runs loads and remembers what was wrong with them. */
export class Account implements Bench {
  readonly upstream: Upstream;
  readonly pace: number;
  readonly mostIdle: number;
  /** Answers that were not whole and right, and what could not be measured. */
  readonly failures: string[] = [];
  /** Why the client may have been the limit. */
  readonly clientLimits: string[] = [];
  ownShare = 0;
  restShare = 0;
  /** CPU microseconds of the contenders per answer of the last load; absent if their processes are not known. */
  cpuPerAnswer: number | undefined;

  constructor(upstream: Upstream, pace: number) {
    this.upstream = upstream;
    this.pace = pace;
    // A quick run leaves out the longest part.
    this.mostIdle = pace < 1 ? 0 : Math.min(mostIdleStreams, openFilesLimit() - spareFiles);
  }

  /** All that makes its figures doubtful. */
  get findings(): string[] {
    return [...this.failures, ...this.clientLimits];
  }

  async load(contender: Contender, plan: LoadPlan): Promise<LoadOutcome> {
    const outcome = await runLoad(contender, plan, this.upstream.roles);
    this.record(outcome, [outcome.result]);
    const { client } = outcome.result;
    if (client.isBottleneck) this.clientLimits.push(...client.findings);
    return outcome;
  }

  async loadAll(contenders: readonly Contender[], plan: LoadPlan): Promise<LoadCost> {
    const { results, ...cost } = await runLoads(contenders, plan, this.upstream.roles);
    this.record(cost, results);
    return cost;
  }

  private record(cost: LoadCost, results: readonly LoadResult[]): void {
    const { ownShare, restShare } = cost;
    this.cpuPerAnswer = stackPer(cost, cost.answers);
    this.ownShare = Math.max(this.ownShare, ownShare);
    this.restShare = Math.max(this.restShare, restShare);
    for (const [error, count] of results.flatMap(({ errors }) => Object.entries(errors)))
      this.failures.push(`${count} × ${error}`);
  }
}

function describe(title: string, measures: Measures, account: Account): string {
  const figures = Object.entries(measures).map(([name, value]) => `${name} ${+value.toPrecision(4)}`);
  const shares = `machine: ours ${percent(account.ownShare)}, others ${percent(account.restShare)}`;
  const doubts = account.findings.length > 0 ? ` [${account.findings.join('; ')}]` : '';
  return `${title}: ${figures.join(', ')} (${shares})${doubts}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
