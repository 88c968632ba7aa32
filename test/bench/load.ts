import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openTemporaryFolder } from '../support/temporary-folder.ts';
import type { Contender } from './contenders/contender.ts';
import { loadtest } from './contenders/upstream.ts';
import { killWithUs } from './machine/kill-with-us.ts';
import { readMachineTimes } from './machine/machine.ts';
import {
  type CpuByRole,
  cpuBetween,
  endedChildrenCpuMs,
  ownCpuMs,
  type Role,
  readCpu,
} from './machine/processes.ts';

/** One run of the load test, by its own flags. */
export interface LoadPlan {
  model: string;
  /** Users in a closed loop. */
  users?: number;
  /** Users start evenly within this time; default 200 ms. */
  rampUpMs?: number;
  /** Instants at which requests are due, in milliseconds: makes it an open loop instead of users. */
  arrivals?: readonly number[];
  /** Single bodies instead of streams. */
  single?: boolean;
  warmupMs: number;
  /** Warm-up included. */
  durationMs: number;
  /** More flags, passed on unchanged. */
  flags?: readonly string[];
}

const percentiles = z.looseObject({ p50: z.number(), p99: z.number() });
const metric = z.looseObject({ count: z.number(), max: z.number(), percentiles });
const counts = z.looseObject({
  offered: z.number(),
  ok: z.number(),
  refused: z.number(),
  tokens: z.number(),
});
/** The parts of the load test's result that are used here. */
const loadResult = z.looseObject({
  measuredMs: z.number(),
  totals: z.looseObject({ ...counts.shape, good: z.number(), failed: z.number() }),
  rates: z.looseObject({ offered: z.number(), ok: z.number(), good: z.number(), tokens: z.number() }),
  attainment: z.number(),
  metrics: z.looseObject({
    ttft: metric,
    ttftFromSend: metric,
    endToEndFromSend: metric,
    transit: metric,
    refusal: metric,
  }),
  errors: z.record(z.string(), z.number()),
  intervals: z.array(counts),
  client: z.looseObject({ isBottleneck: z.boolean(), findings: z.array(z.string()) }),
  search: z
    .looseObject({
      saturationRate: z.number(),
      points: z.array(
        z.looseObject({
          phase: z.string(),
          offeredRate: z.number(),
          goodRate: z.number(),
          okRate: z.number(),
        }),
      ),
    })
    .optional(),
});
export type LoadResult = z.output<typeof loadResult>;

/** A metric's percentiles; absent if no answer had the metric, for instance because all failed. */
export function percentilesOf({ count, percentiles }: z.output<typeof metric>): {
  p50?: number;
  p99?: number;
} {
  return count === 0 ? {} : percentiles;
}

/** What the client says of itself and of the load, marked where it was itself the limit. */
export function clientFindings({ client }: LoadResult): string[] {
  const mark = client.isBottleneck ? 'THE CLIENT WAS THE LIMIT' : 'note';
  return client.findings.map((finding) => `${mark}: ${finding}`);
}

/** What a load, or several at once, cost. */
export interface LoadCost {
  /** Answers and tokens of the whole run, warm-up included: what the CPU time was spent on. */
  answers: number;
  tokens: number;
  cpu: CpuByRole;
  /** Share of the machine used by contenders, upstream, clients and us. */
  ownShare: number;
  /** Share used by anybody else. */
  restShare: number;
}

/** A run and what it cost. */
export interface LoadOutcome extends LoadCost {
  result: LoadResult;
}

/** Runs one load against a contender. `watched` are other processes that belong to the measurement. */
export async function runLoad(
  contender: Contender,
  plan: LoadPlan,
  watched: readonly Role[],
): Promise<LoadOutcome> {
  const { results, ...cost } = await runLoads([contender], plan, watched);
  const [result] = results;
  if (!result) throw new Error('one load has one result');
  return { ...cost, result };
}

/** Runs the same load against several contenders at once, each by a client of its own; one may be named repeatedly. */
export async function runLoads(
  contenders: readonly Contender[],
  plan: LoadPlan,
  watched: readonly Role[],
): Promise<LoadCost & { results: LoadResult[] }> {
  const folder = openTemporaryFolder('load');
  try {
    const flags = [...(await planFlags(plan, folder.path)), ...(plan.flags ?? [])];
    const everybody = [...contenders.flatMap(({ roles }) => roles), ...watched];
    const roles = [...new Map(everybody.map((role) => [role.pid, role])).values()];
    const before = { cpu: readCpu(roles), machine: readMachineTimes(), us: usedByUs() };
    const results = await Promise.all(
      contenders.map((contender, at) =>
        runLoadtest(contender, ['run', ...flags], join(folder.path, `result-${at}.json`)),
      ),
    );
    const cpu = cpuBetween(before.cpu, readCpu(roles));
    const machine = readMachineTimes();
    const totalMs = machine.totalMs - before.machine.totalMs;
    const ownMs = usedByUs() - before.us + Object.values(cpu).reduce((sum, ms) => sum + ms, 0);
    const intervals = results.flatMap((result) => result.intervals);
    const sum = (read: (interval: LoadResult['intervals'][number]) => number) =>
      intervals.reduce((total, interval) => total + read(interval), 0);
    return {
      results,
      answers: sum((interval) => interval.ok),
      tokens: sum((interval) => interval.tokens),
      cpu,
      ownShare: ownMs / totalMs,
      restShare: Math.max(0, (machine.busyMs - before.machine.busyMs - ownMs) / totalMs),
    };
  } finally {
    folder.remove();
  }
}

/**
 * Runs the load test's program, which writes its result to `path`, and reads that. If there is none, the error holds
 * the program's last output.
 */
export async function runLoadtest(
  contender: Contender,
  words: readonly string[],
  path: string,
): Promise<LoadResult> {
  const all = [
    ...words,
    '-t',
    contender.url,
    ...(contender.key ? ['-k', contender.key] : []),
    ...(contender.headers ?? []).flatMap((header) => ['--header', header]),
    '--json',
    path,
    '-q',
  ];
  const child = spawn(process.execPath, [loadtest, ...all], { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint += text.toString();
  });
  killWithUs(child);
  await once(child, 'close');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) throw new Error(`the load test gave no result: ${complaint}`);
  return loadResult.parse(JSON.parse(text));
}

async function planFlags(plan: LoadPlan, folder: string): Promise<string[]> {
  const { model, users, rampUpMs, arrivals, single, warmupMs, durationMs } = plan;
  const flags = ['-m', model, '-d', `${durationMs}ms`, '--warmup', `${warmupMs}ms`];
  if (single) flags.push('--single');
  if (rampUpMs !== undefined) flags.push('--ramp-up', `${rampUpMs}ms`);
  if (arrivals === undefined) return [...flags, '-u', String(users ?? 1)];
  const trace = join(folder, 'arrivals.csv');
  await writeFile(trace, ['at_ms', ...arrivals, ''].join('\n'));
  return [...flags, '--trace', trace];
}

/** CPU time of this process and of the clients that have ended, in milliseconds. */
function usedByUs(): number {
  return ownCpuMs() + endedChildrenCpuMs();
}
