import { resolve } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { positiveNumber, readCommandLine, wholeNumber } from '../support/command-line.ts';
import { exitOnSignals } from '../support/exit-on-signals.ts';
import { repository } from '../support/repository.ts';
import { openWorktree, type Worktree, WorktreeError } from '../support/worktree.ts';
import { Account } from './bench-run.ts';
import { type Gateway, startGateway } from './contenders/gateway.ts';
import { startUpstream } from './contenders/upstream.ts';
import { MicroProcess } from './micro-process.ts';
import { type MeasureName, type Measures, median } from './results/measures.ts';
import { fewestRounds, type Judgement, judgeAll, judgeCosts } from './results/significance.ts';
import { inTurn } from './results/turns.ts';
import { warmUp } from './scenario.ts';
import { measurePaced, oneStream } from './scenarios/first-token.ts';
import { measureRequests, measureRush } from './scenarios/throughput.ts';

/** A figure of whole gateways by which two commits are compared. */
interface Comparison {
  name: MeasureName;
  title: string;
  /** Only CPU time is judged, since it hardly depends on what else the machine does; the rest is only printed. */
  isJudged: boolean;
}

/** A gateway of one of the two commits. */
interface Running {
  gateway: Gateway;
  account: Account;
}

const comparisons: readonly Comparison[] = [
  { name: 'stackPerRequest', title: 'µs of CPU per request, all', isJudged: true },
  { name: 'ingressPerRequest', title: '  ingress', isJudged: false },
  { name: 'workerPerRequest', title: '  worker', isJudged: false },
  { name: 'redisPerRequest', title: '  redis', isJudged: false },
  { name: 'stackPerToken', title: 'µs of CPU per token, 256 paced, all', isJudged: true },
  { name: 'ingressPerToken', title: '  ingress', isJudged: false },
  { name: 'workerPerToken', title: '  worker', isJudged: false },
  { name: 'redisPerToken', title: '  redis', isJudged: false },
  { name: 'stackPerRushToken', title: 'µs of CPU per token, no gap, all', isJudged: true },
  { name: 'requestRate', title: 'requests/s', isJudged: false },
  { name: 'tokenRate32', title: 'tokens/s, no gap', isJudged: false },
  { name: 'transitP50', title: 'token transit p50, ms', isJudged: false },
  { name: 'transitP99', title: 'token transit p99, ms', isJudged: false },
  { name: 'ttft1P50', title: 'first token p50, 1 stream, ms', isJudged: false },
  { name: 'ttft256P50', title: 'first token p50, 256 paced, ms', isJudged: false },
  { name: 'ttft256P99', title: 'first token p99, 256 paced, ms', isJudged: false },
];

const help = `npm run bench:compare -- [flags] [FIRST [SECOND]]

  Measures two commits in turns and tells whether the second is slower; then the exit code is 1. It is 2 if they could
  not be compared, for instance because one of them answers wrong. Default: HEAD, and the first again. A dot is the
  checkout as it is.

  --apply FILE    a patch for the second
  --micro-only    micro-benchmarks alone: two minutes
  --standing      the same gateways serve all rounds, instead of new ones in each: shows a percentile that is hidden
                  behind the first minutes of a process, but may be wrong by a tenth
  --rounds N      rounds of both, interleaved, ${fewestRounds} or more (5)
  --pace X        length of the loads, 1 as in the benchmark (0.4)
`;
const words = readCommandLine(help, () => {
  const { values, positionals } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      pace: { type: 'string', default: '0.4' },
      apply: { type: 'string' },
      'micro-only': { type: 'boolean', default: false },
      standing: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  const rounds = wholeNumber('rounds', values.rounds, fewestRounds);
  return { ...values, rounds, pace: positiveNumber('pace', values.pace), revisions: positionals };
});
const [first = 'HEAD', second = first] = words.revisions;
const patch = words.apply === undefined ? undefined : resolve(words.apply);
const { rounds, pace } = words;
exitOnSignals();
const trees: Worktree[] = [];
/** Why there is nothing to compare. */
const failures: string[] = [];
try {
  trees.push(await openWorktree(repository, first));
  trees.push(await openWorktree(repository, second, patch));
  const [before, after] = trees;
  if (!before || !after) throw new Error('a comparison needs two');
  print(`${after.name} against ${before.name}, ${rounds} interleaved rounds; > 1 is slower\n\n`);
  const judgements = await compareMicro(before, after);
  if (!words['micro-only']) judgements.push(...(await compareGateways([before, after])));
  const verdict = judgeAll(judgements, failures);
  print(`\n${verdict.text}\n`);
  process.exitCode = verdict.exitCode;
} catch (thrown) {
  process.stderr.write(`${thrown instanceof WorktreeError ? thrown.message : inspect(thrown)}\n`);
  process.exitCode = 2;
} finally {
  for (const tree of trees) await tree.remove();
}
// What was started beside something that did not start still runs, and ends with this process.
process.exit();

async function compareMicro(before: Worktree, after: Worktree): Promise<Judgement[]> {
  const pairs = new Map<string, { before: number; after: number }[]>();
  const alone = new Set<string>();
  for (let round = 1; round <= rounds; round++) {
    const processes = [before, after].map(({ root }) => new MicroProcess(root));
    // Each benchmark right after its own of the other side: in seconds, a shared machine may change its pace by half.
    // And in one order for all of a round, so that neither side goes on at once where the other has paused: what one
    // leaves to the collector of its process then costs the next one up to three times as much.
    for (;;) {
      const [a, b] = await inTurn(round, processes, (each) => each.measureNext());
      if (!a || !b) break;
      const { name, us: cost } = a;
      if (cost === undefined || b.us === undefined) alone.add(name);
      else pairs.set(name, [...(pairs.get(name) ?? []), { before: cost, after: b.us }]);
      if (cost !== undefined && b.us === undefined) failures.push(`${name} fails in ${after.name}`);
    }
    process.stderr.write(`micro-benchmarks, round ${round}\n`);
  }
  const judgements = [...pairs].map(([name, found]) => report(name, found, true));
  if (alone.size > 0) print(`not run by both, in each round: ${[...alone].join(', ')}\n`);
  return judgements;
}

async function compareGateways(both: readonly Worktree[]): Promise<Judgement[]> {
  const upstream = await startUpstream();
  const sides = both.map((tree) => ({ tree, account: new Account(upstream, pace) }));
  const found: Measures[][] = [];
  try {
    const measure = async (round: number, running: readonly Running[]) => {
      found.push(await inTurn(round, running, measureAll));
      process.stderr.write(`whole gateways, round ${round}\n`);
    };
    const everyRound = Array.from({ length: rounds }, (_, index) => index + 1);
    if (words.standing) {
      await useGateways(1, sides, async (running) => {
        // As in the benchmark, each load runs once before it is measured.
        await inTurn(1, running, measureAll);
        for (const round of everyRound) await measure(round, running);
      });
    } else {
      for (const round of everyRound) await useGateways(round, sides, (running) => measure(round, running));
    }
  } finally {
    await upstream.stop();
  }
  const restShare = Math.max(...sides.map(({ account }) => account.restShare));
  print(`\nothers used up to ${Math.round(restShare * 100)} % of the machine\n`);
  for (const { tree, account } of sides) {
    for (const limit of new Set(account.clientLimits)) print(`in doubt, ${tree.name}: ${limit}\n`);
    failures.push(...account.failures.map((failure) => `${tree.name}: ${failure}`));
  }
  const judgements = comparisons.map(({ name, title, isJudged }) => {
    const pairs = found.flatMap(([a, b]) => {
      const [one, two] = [a?.[name], b?.[name]];
      return one === undefined || two === undefined ? [] : [{ before: one, after: two }];
    });
    if (isJudged && pairs.length === 0) failures.push(`not measured: ${title}`);
    return { isJudged, judgement: report(title, pairs, isJudged) };
  });
  return judgements.filter(({ isJudged }) => isJudged).map(({ judgement }) => judgement);
}

/**
 * Lends a warm gateway of each. Without `--standing` every round has fresh ones, because processes of the same code
 * differ by up to a tenth for as long as they live: with the same ones, all rounds agreed on a difference that there
 * was not.
 */
async function useGateways(
  round: number,
  sides: readonly { tree: Worktree; account: Account }[],
  use: (running: readonly Running[]) => Promise<void>,
): Promise<void> {
  const started: Gateway[] = [];
  try {
    const running = await inTurn(round, sides, async ({ tree: { root, name }, account }) => {
      // By TCP, which every checkout supports.
      const gateway = await startGateway({ upstream: account.upstream.url, redis: 'tcp', root, name });
      started.push(gateway);
      await warmUp(gateway, account);
      return { gateway, account };
    });
    await use(running);
  } finally {
    for (const gateway of started) await gateway.stop();
  }
}

async function measureAll({ gateway, account }: Running): Promise<Measures> {
  return {
    ...(await oneStream.measure(gateway, account)),
    ...(await measureRequests(gateway, account)),
    ...(await measurePaced(gateway, account)),
    ...(await measureRush(gateway, account, 32)),
  };
}

function report(
  title: string,
  pairs: readonly { before: number; after: number }[],
  isJudged: boolean,
): Judgement {
  const ratios = pairs.map(({ before, after }) => after / before);
  const judgement = judgeCosts(ratios);
  const before = format(median(pairs.map((pair) => pair.before)));
  const after = format(median(pairs.map((pair) => pair.after)));
  const each = ratios.map((ratio) => ratio.toFixed(2)).join(' ');
  const verdict = isJudged ? judgement.change : '';
  print(
    `${title.padEnd(38)}${before} → ${after}  × ${judgement.ratio.toFixed(2)}  ${verdict.padEnd(8)} (${each})\n`,
  );
  return judgement;
}

function format(value: number | undefined): string {
  const digits = value === undefined || value >= 100 ? 0 : 2;
  return (value?.toLocaleString('en', { maximumFractionDigits: digits }) ?? '–').padStart(9);
}

function print(text: string): void {
  process.stdout.write(text);
}
