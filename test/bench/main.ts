import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { SluiceError } from '@sluice/canonical';
import { readCommandLine } from '../support/command-line.ts';
import { exitOnSignals } from '../support/exit-on-signals.ts';
import { runBench } from './bench-run.ts';
import { runCheck } from './check.ts';
import type { Contender } from './contenders/contender.ts';
import { startGateway } from './contenders/gateway.ts';
import { startNginx } from './contenders/nginx.ts';
import { openOtherGateway } from './contenders/other-gateway.ts';
import { startUpstream } from './contenders/upstream.ts';
import { describeFlags, type Flags, parseFlags } from './flags.ts';
import { startHops } from './hops/hops.ts';
import { runPastSaturation } from './past-saturation.ts';
import { describeDoubts } from './results/doubts.ts';
import { describeGaps } from './results/gaps.ts';
import { countGoals, formatTable } from './results/table.ts';
import { compareMachines } from './results/yardstick.ts';
import type { Scenario } from './scenario.ts';
import { backlog } from './scenarios/backlog.ts';
import {
  burst,
  longStreams,
  oneBody,
  oneStream,
  pacedStreams,
  someStreams,
} from './scenarios/first-token.ts';
import { besideIdle, memory } from './scenarios/idle.ts';
import { scale } from './scenarios/scale.ts';
import { requests, tokens } from './scenarios/throughput.ts';

const scenarios: readonly Scenario[] = [
  oneStream,
  someStreams,
  pacedStreams,
  longStreams,
  burst,
  oneBody,
  requests,
  tokens,
  memory,
  backlog,
  besideIdle,
  scale,
];
const quickPace = 0.4;

exitOnSignals();
const flags = readCommandLine(describeFlags(scenarios), () => parseFlags(process.argv.slice(2), scenarios));
try {
  process.exitCode = await run(flags);
} catch (thrown) {
  const isExpected = thrown instanceof SluiceError || (thrown instanceof Error && 'syscall' in thrown);
  say(isExpected ? `bench: ${thrown.message}` : inspect(thrown));
  // Exit code 1 means that the benchmark ran and missed a goal. At once: what was started beside whatever did not start
  // still runs, and ends with this process.
  process.exit(2);
}

async function run(flags: Flags): Promise<number> {
  await mkdir(flags.output, { recursive: true });
  if (flags.check !== undefined) return runCheck({ ...flags, streams: flags.check, say, print });
  if (flags.pastSaturation) return runPastSaturation({ ...flags, say, print });
  return runAll(flags);
}

async function runAll(flags: Flags): Promise<number> {
  const wanted = scenarios.filter(({ name }) => flags.only.length === 0 || flags.only.includes(name));
  const upstream = await startUpstream(flags.upstreamPort);
  const contenders: Contender[] = [upstream];
  say(`the fake upstream serves at ${upstream.url}`);
  try {
    const proxy = await startNginx(upstream.url);
    if (proxy) contenders.push(proxy);
    else say('nginx is not installed: no bare proxy to compare with');
    if (flags.hops) contenders.push(await startHops(upstream.url, flags.redis));
    const gateway = await startGateway({ upstream: upstream.url, redis: flags.redis });
    contenders.push(gateway, ...flags.urls.map(openOtherGateway));
    const result = await runBench({
      contenders,
      upstream,
      scenarios: wanted,
      rounds: flags.rounds,
      pace: flags.quick ? quickPace : 1,
      say,
    });
    const path = join(flags.output, 'bench.json');
    await writeFile(path, `${JSON.stringify(result, undefined, 2)}\n`);
    const { machine, samples, columns } = result;
    const own = Math.max(0, ...samples.map(({ ownShare }) => ownShare));
    const rest = Math.max(0, ...samples.map(({ restShare }) => restShare));
    const goals = countGoals(columns);
    const machines = compareMachines(columns);
    const doubts = describeDoubts(samples);
    const gaps = describeGaps(samples, gateway.name);
    print(
      `${formatTable(columns)}\n\n` +
        `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}; ` +
        `medians of ${result.rounds} interleaved rounds; at most ${percent(own)} of the machine was ours, ` +
        `at most ${percent(rest)} anybody else's.\n` +
        (machines ? `${machines}\n` : '') +
        [doubts, gaps].map((text) => (text === '' ? '' : `${text}\n`)).join('') +
        `Goals: ${goals.held + goals.moonshot} held (${goals.moonshot} of them moonshots), ${goals.missed} missed. Everything is in ${path}.\n`,
    );
    if (gaps !== '') return 2;
    return goals.missed > 0 ? 1 : 0;
  } finally {
    for (const contender of contenders.reverse()) await contender.stop();
  }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function print(text: string): void {
  process.stdout.write(text);
}
