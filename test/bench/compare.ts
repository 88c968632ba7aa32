import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Account } from './bench-run.ts';
import { type Gateway, repository, startGateway } from './gateway.ts';
import { type MeasureName, type Measures, median } from './measures.ts';
import { warmUp } from './scenario.ts';
import { measurePaced } from './scenarios/first-token.ts';
import { measureRequests, measureRush } from './scenarios/throughput.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import { openWorktree, type Worktree } from './worktree.ts';

/** One figure by which two commits are compared: the second's as a share of the first's. */
interface Comparison {
  name: MeasureName;
  title: string;
  /** Whether more of it is worse. */
  isCost: boolean;
  /** Only CPU time is independent of what else the machine does; rates are told, not judged. */
  isJudged: boolean;
}

const comparisons: readonly Comparison[] = [
  { name: 'stackPerRequest', title: 'CPU per request, all', isCost: true, isJudged: true },
  { name: 'ingressPerRequest', title: '  ingress', isCost: true, isJudged: false },
  { name: 'workerPerRequest', title: '  worker', isCost: true, isJudged: false },
  { name: 'redisPerRequest', title: '  redis', isCost: true, isJudged: false },
  { name: 'stackPerToken', title: 'CPU per token, 256 paced, all', isCost: true, isJudged: true },
  { name: 'ingressPerToken', title: '  ingress', isCost: true, isJudged: false },
  { name: 'workerPerToken', title: '  worker', isCost: true, isJudged: false },
  { name: 'redisPerToken', title: '  redis', isCost: true, isJudged: false },
  { name: 'stackPerRushToken', title: 'CPU per token, 32 without a gap, all', isCost: true, isJudged: true },
  { name: 'requestRate', title: 'requests/s', isCost: false, isJudged: false },
  { name: 'tokenRate32', title: 'tokens/s without a gap', isCost: false, isJudged: false },
  { name: 'transitP50', title: 'token transit p50', isCost: true, isJudged: false },
];

/** A median beyond this, with three quarters of the rounds on its side, is no accident. */
const tolerance = 0.05;
const agreement = 0.75;

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    pace: { type: 'string', default: '0.5' },
    /** A patch for the second commit. */
    apply: { type: 'string' },
  },
  allowPositionals: true,
});
const [first = 'HEAD', second = first] = positionals;
const patch = values.apply === undefined ? undefined : resolve(values.apply);
const upstream = await startUpstream();
const trees: Worktree[] = [];
const gateways: Gateway[] = [];
try {
  trees.push(await openWorktree(repository, first));
  trees.push(await openWorktree(repository, second, patch));
  for (const { root, name } of trees)
    gateways.push(await startGateway({ upstream: upstream.url, root, name }));
  process.exitCode = (await compare(gateways, upstream)) ? 0 : 1;
} finally {
  for (const gateway of gateways) await gateway.stop();
  for (const tree of trees) await tree.remove();
  await upstream.stop();
}

async function compare(both: readonly Gateway[], upstream: Upstream): Promise<boolean> {
  const account = new Account(upstream, Number(values.pace));
  const rounds: Measures[][] = [];
  for (const gateway of both) await warmUp(gateway, account);
  for (let round = 1; round <= Number(values.rounds); round++) {
    // The order alternates, so that a drift of the machine favours neither.
    const found: Measures[] = [];
    for (const at of round % 2 === 0 ? [1, 0] : [0, 1]) {
      const gateway = both[at];
      if (gateway) found[at] = await measureAll(gateway, account);
    }
    rounds.push(found);
    process.stderr.write(`round ${round} of ${values.rounds}\n`);
  }
  const names = both.map(({ name }) => name);
  const rest = Math.round(account.restShare * 100);
  process.stdout.write(
    `${names[1]} against ${names[0]}, ${rounds.length} interleaved rounds, others used up to ${rest} % of the machine\n\n`,
  );
  const verdicts = comparisons.map((comparison) => judge(comparison, rounds));
  for (const { text } of verdicts) process.stdout.write(`${text}\n`);
  for (const finding of new Set(account.findings)) process.stdout.write(`note: ${finding}\n`);
  const slower = verdicts.some((verdict) => verdict.change === 'slower');
  process.stdout.write(`\n${slower ? 'SLOWER' : 'not slower'}\n`);
  return !slower;
}

async function measureAll(gateway: Gateway, account: Account): Promise<Measures> {
  return {
    ...(await measureRequests(gateway, account)),
    ...(await measurePaced(gateway, account)),
    ...(await measureRush(gateway, account, 32)),
  };
}

function judge({ name, title, isCost, isJudged }: Comparison, rounds: readonly Measures[][]) {
  const pairs = rounds.flatMap(([a, b]) => {
    const [before, after] = [a?.[name], b?.[name]];
    return before === undefined || after === undefined ? [] : [{ before, after, ratio: after / before }];
  });
  const ratios = pairs.map(({ ratio }) => ratio);
  const middle = median(ratios) ?? 1;
  const isAgreed = (isOnSide: (ratio: number) => boolean) =>
    ratios.filter(isOnSide).length >= agreement * ratios.length;
  const isMore = middle > 1 + tolerance && isAgreed((ratio) => ratio > 1);
  const isLess = middle < 1 / (1 + tolerance) && isAgreed((ratio) => ratio < 1);
  const isWorse = isCost ? isMore : isLess;
  const isBetter = isCost ? isLess : isMore;
  const change = !isJudged ? undefined : isWorse ? 'slower' : isBetter ? 'faster' : 'same';
  const show = (read: (pair: (typeof pairs)[number]) => number) => format(median(pairs.map(read)));
  return {
    change,
    text:
      `${title.padEnd(38)} ${show((pair) => pair.before)} → ${show((pair) => pair.after)}  × ${middle.toFixed(2)} ` +
      `(${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})${change ? `  ${change}` : ''}`,
  };
}

function format(value: number | undefined): string {
  const digits = value === undefined || value >= 100 ? 0 : 2;
  return (value?.toLocaleString('en', { maximumFractionDigits: digits }) ?? '–').padStart(9);
}
