import { existsSync } from 'node:fs';
import { glob, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { until } from '@sluice/testing';
import { knownNames, positiveNumber, readCommandLine, wholeNumber } from '../support/command-line.ts';
import { exitOnSignals } from '../support/exit-on-signals.ts';
import { repository } from '../support/repository.ts';
import { openTemporaryFolder } from '../support/temporary-folder.ts';
import type { Contender } from './contenders/contender.ts';
import { type Gateway, startGateway } from './contenders/gateway.ts';
import { models, pacedLifeMs } from './contenders/models.ts';
import { startUpstream, type Upstream } from './contenders/upstream.ts';
import { openIdleStreams } from './idle-streams.ts';
import { type LoadOutcome, type LoadPlan, runLoad } from './load.ts';
import {
  allocationsFile,
  allocationsFolder,
  type Lifetime,
  readAllocations,
} from './profiles/allocation-profile.ts';
import { type Costs, readProfile } from './profiles/cpu-profile.ts';
import { summarize, treeLines } from './profiles/native-profile.ts';
import { compiledMap, startRecording } from './profiles/native-samples.ts';

type Measure = 'µs' | 'B';

/** What is profiled, and what its cost is divided by. */
interface Subject {
  plan: Omit<LoadPlan, 'warmupMs' | 'durationMs'>;
  unit: 'request' | 'token';
}

const subjects: Readonly<Record<string, Subject>> = {
  requests: { plan: { model: models.one, users: 256, single: true }, unit: 'request' },
  one: { plan: { model: models.one, users: 1, single: true }, unit: 'request' },
  paced: { plan: { model: models.paced, users: 256, rampUpMs: pacedLifeMs }, unit: 'token' },
  rush: { plan: { model: models.rush, users: 32 }, unit: 'token' },
};

/** What is less of a process' CPU time is left out of the tree. */
const leastShare = 0.005;

const help = `npm run bench:profile -- [flags] [NAME …]

  Profiles CPU or memory of ingress and worker under one load after the other: ${Object.keys(subjects).join(', ')} (requests paced).

  --seconds N     length of each load (6)
  --lines N       functions that are shown (25)
  --idle N        open streams beside the load (0)
  --memory        bytes that are allocated, and those that outlive young collections, instead of CPU time
  --native        CPU time of the kernel, Node, V8 and all threads beside that of JavaScript, as a tree, too (needs perf)
  --node OPTIONS  more options of Node for the gateway's processes
`;
const words = readCommandLine(help, () => {
  const { values, positionals } = parseArgs({
    options: {
      seconds: { type: 'string', default: '6' },
      lines: { type: 'string', default: '25' },
      idle: { type: 'string', default: '0' },
      memory: { type: 'boolean', default: false },
      native: { type: 'boolean', default: false },
      node: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  if (values.memory && values.native) throw new Error('--memory and --native are two profiles');
  return {
    help: values.help,
    names: knownNames(positionals, Object.keys(subjects)),
    seconds: positiveNumber('seconds', values.seconds),
    lines: wholeNumber('lines', values.lines),
    idle: wholeNumber('idle', values.idle, 0),
    profile: values.memory ? profileMemory : values.native ? profileNative : profileTime,
    nodeOptions: values.node,
  };
});
const names = words.names.length > 0 ? words.names : ['requests', 'paced'];
exitOnSignals();
const upstream = await startUpstream();
try {
  for (const name of names) {
    const subject = subjects[name];
    if (subject) await words.profile(name, subject, upstream);
  }
} finally {
  await upstream.stop();
}

async function profileTime(name: string, { plan, unit }: Subject, upstream: Upstream): Promise<void> {
  const folder = openTemporaryFolder('profile');
  const options = `--cpu-prof --cpu-prof-interval=300 --cpu-prof-dir=${folder.path} ${words.nodeOptions}`;
  const gateway = await startGateway({ upstream: upstream.url, environment: { NODE_OPTIONS: options } });
  let isStopped = false;
  try {
    const idle = await openIdleStreams(gateway, upstream, words.idle);
    const load = (ms: number) => runLoad(gateway, { ...plan, warmupMs: 0, durationMs: ms }, upstream.roles);
    await load(4000);
    const fromUs = nowUs();
    const outcome = await load(words.seconds * 1000);
    const window = { fromUs, toUs: nowUs() };
    await idle.close();
    // A process writes its profile when it ends.
    await gateway.stop();
    isStopped = true;
    const units = printOutcome(name, unit, outcome);
    for (const { role, pid } of profiled(gateway)) {
      const summary = await readProfile(folder.path, pid, window, repository);
      process.stdout.write(
        `\n## ${role}, ${(summary.busyUs / units).toFixed(1)} µs per ${unit} on the main thread\n`,
      );
      printCosts('by module', summary.modules, units, 'µs');
      printCosts('by function', summary.functions, units, 'µs');
      printCosts('functions of ours with all that they call', summary.inclusive, units, 'µs');
    }
  } finally {
    if (!isStopped) await gateway.stop();
    folder.remove();
  }
}

async function profileNative(name: string, { plan, unit }: Subject, upstream: Upstream): Promise<void> {
  const folder = openTemporaryFolder('profile');
  const options = `--perf-basic-prof ${words.nodeOptions}`;
  const gateway = await startGateway({ upstream: upstream.url, environment: { NODE_OPTIONS: options } });
  const load = (ms: number) => runLoad(gateway, { ...plan, warmupMs: 0, durationMs: ms }, upstream.roles);
  try {
    const idle = await openIdleStreams(gateway, upstream, words.idle);
    await load(4000);
    const pids = profiled(gateway).map(({ pid }) => pid);
    const recording = await startRecording(pids, folder.path);
    const outcome = await load(words.seconds * 1000).finally(() => recording.stop());
    await idle.close();
    const units = printOutcome(name, unit, outcome);
    for (const { role, pid } of profiled(gateway)) {
      const samples = await recording.read(pid);
      const us = (outcome.cpu[role] ?? 0) * 1000;
      const { layers, functions, inclusive, tree } = summarize(samples, us / samples.length, repository);
      process.stdout.write(`\n## ${role}, ${(us / units).toFixed(1)} µs per ${unit} in all its threads\n`);
      printCosts('by layer', layers, units, 'µs');
      printCosts('by function', functions, units, 'µs');
      printCosts('functions of ours and system calls with all that they call', inclusive, units, 'µs');
      const lines = treeLines(tree, us * leastShare, (amount) => printAmount(amount / units, 'µs'));
      process.stdout.write(
        `\n### as a tree, without what is below ${leastShare * 100} %\n${lines.join('\n')}\n`,
      );
    }
  } finally {
    await gateway.stop();
    folder.remove();
    await removeMaps();
  }
}

/**
 * Removes what V8 wrote for `--perf-basic-prof`, also for supervisors: no flag of `NODE_OPTIONS` says where to. A log
 * without a map is of another profiler and stays.
 */
async function removeMaps(): Promise<void> {
  for await (const file of glob('isolate-*-v8.log', { cwd: repository })) {
    const [, pid] = /-(\d+)-v8/.exec(file) ?? [];
    const map = compiledMap(Number(pid));
    if (!existsSync(map)) continue;
    await rm(map);
    await rm(join(repository, file));
  }
}

async function profileMemory(name: string, { plan, unit }: Subject, upstream: Upstream): Promise<void> {
  const folder = openTemporaryFolder('allocations');
  const sampler = new URL('./profiles/sample-allocations.ts', import.meta.url).href;
  const environment = {
    NODE_OPTIONS: `--import ${sampler} ${words.nodeOptions}`,
    [allocationsFolder]: folder.path,
  };
  const gateway = await startGateway({ upstream: upstream.url, environment });
  const signal = () => {
    for (const { pid } of profiled(gateway)) process.kill(pid, 'SIGUSR2');
  };
  const load = (ms: number) => runLoad(gateway, { ...plan, warmupMs: 0, durationMs: ms }, upstream.roles);
  try {
    const idle = await openIdleStreams(gateway, upstream, words.idle);
    await load(4000);
    for (const lifetime of ['all', 'old'] satisfies Lifetime[]) {
      signal();
      const outcome = await load(words.seconds * 1000);
      signal();
      const units = unit === 'request' ? outcome.answers : outcome.tokens;
      for (const { role, pid } of profiled(gateway)) {
        const file = allocationsFile(folder.path, pid, lifetime);
        await until(() => existsSync(file), { what: `the profile of the ${role}` });
        const costs = await readAllocations(folder.path, pid, lifetime, repository);
        const bytes = costs.reduce((sum, [, each]) => sum + each, 0);
        const what = lifetime === 'all' ? 'allocated' : 'outlived the young generation';
        process.stdout.write(
          `\n# ${name}, ${role}: ${(bytes / units).toFixed(0)} bytes per ${unit} ${what}\n`,
        );
        printCosts('by function', costs, units, 'B');
      }
    }
    await idle.close();
  } finally {
    await gateway.stop();
    folder.remove();
  }
}

function profiled({ roles }: Contender | Gateway) {
  return roles.filter(({ role }) => role === 'ingress' || role === 'worker');
}

/** Prints what the load took of everybody. Returns how many units were done. */
function printOutcome(name: string, unit: Subject['unit'], outcome: LoadOutcome): number {
  const units = unit === 'request' ? outcome.answers : outcome.tokens;
  const rest = Math.round(outcome.restShare * 100);
  process.stdout.write(`\n# ${name}: ${units} ${unit}s, others used ${rest} % of the machine\n`);
  for (const [role, ms] of Object.entries(outcome.cpu)) {
    process.stdout.write(`${role}: ${((ms * 1000) / units).toFixed(1)} µs of CPU per ${unit}\n`);
  }
  return units;
}

function printCosts(title: string, costs: Costs, units: number, measure: Measure): void {
  const lines = costs.slice(0, words.lines).map(([what, amount]) => {
    return `${printAmount(amount / units, measure)}  ${what}`;
  });
  process.stdout.write(`\n### ${title}\n${lines.join('\n')}\n`);
}

function printAmount(amount: number, measure: Measure): string {
  return `${amount.toFixed(measure === 'B' ? 0 : 2).padStart(9)} ${measure}`;
}

/** The clock of CPU profiles. */
function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
