import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from './contenders/contender.ts';
import { type RedisWay, startGateway } from './contenders/gateway.ts';
import { startUpstream, type Upstream } from './contenders/upstream.ts';
import { openIdleStreams } from './idle-streams.ts';
import { clientFindings, runLoad } from './load.ts';
import { readMemory } from './machine/processes.ts';

export interface CheckOptions {
  /** Concurrent streams. */
  streams: number;
  redis: RedisWay;
  /** Folder for results. */
  output: string;
  say(sentence: string): void;
  print(text: string): void;
}

/** A token per second and stream for 30 s: slow models, and 5,000 tokens/s at 5,000 streams. */
const model = 'paced-t0-n30-g1000-stamp';
const rampMs = 10_000;
const settleMs = 6_000;
/** V8's young generation has its full size by the first step, so the slope between steps is that of the streams. */
const idleSteps = [5000, 7500, 10_000];
const gibibyte = 2 ** 30;

/**
 * Runs many concurrent streams through one ingress and one worker and compares every text with the reference. Then
 * measures how many idle streams an ingress holds in a gibibyte. Returns the exit code.
 */
export async function runCheck({ streams, redis, output, say, print }: CheckOptions): Promise<number> {
  const upstream = await startUpstream();
  const open = (): Promise<Contender> => startGateway({ upstream: upstream.url, redis, models: [model] });
  try {
    const direct = await measure(upstream, upstream, streams);
    say(`direct: ${describe(direct)}`);
    const gateway = await open();
    const through = await measure(gateway, upstream, streams).finally(() => gateway.stop());
    say(`gateway: ${describe(through)}`);
    const fresh = await open();
    const idle = await measureIdle(fresh, upstream, say).finally(() => fresh.stop());
    await writeFile(
      join(output, 'check.json'),
      `${JSON.stringify({ streams, direct, through, idle }, undefined, 2)}\n`,
    );
    const isWhole = through.failed === 0 && through.ok >= streams && through.concurrent >= streams;
    print(
      `${through.concurrent} streams at once, ${through.ok} complete, ${through.failed} failed, every text equal to the ` +
        `reference: ${isWhole ? 'held' : 'MISSED'}\n` +
        `added token transit: p50 ${ms(through.transitP50 - direct.transitP50)}, p99 ${ms(through.transitP99 - direct.transitP99)} ` +
        `(${Math.round(through.tokenRate)} tokens/s; direct ${ms(direct.transitP99)}, gateway ${ms(through.transitP99)})\n` +
        `one ingress holds ${idle.inGibibyte.toLocaleString('en')} idle streams in 1 GiB: ${(idle.baseBytes / 1e6).toFixed(0)} MB ` +
        `and ${(idle.bytesPerStream / 1000).toFixed(1)} KB each, measured up to ${idle.measuredUpTo}\n`,
    );
    return isWhole ? 0 : 1;
  } finally {
    await upstream.stop();
  }
}

async function measure(contender: Contender, upstream: Upstream, streams: number) {
  // All streams begin before the first one ends.
  const arrivals = Array.from({ length: streams }, (_, at) => Math.floor((at * rampMs) / streams));
  const { result, ownShare, restShare } = await runLoad(
    contender,
    {
      model,
      arrivals,
      warmupMs: 0,
      durationMs: rampMs + 1,
      flags: ['--verify', 'tokens', '--timeout', '180s', '--grace', '120s'],
    },
    upstream.roles,
  );
  const { totals, metrics, rates, intervals } = result;
  const inFlight = intervals.map((interval) => Number(interval.inFlight ?? 0));
  return {
    findings: clientFindings(result),
    ok: totals.ok,
    failed: totals.failed + totals.refused,
    errors: result.errors,
    concurrent: Math.max(0, ...inFlight),
    tokenRate: rates.tokens,
    transitP50: metrics.transit.percentiles.p50,
    transitP99: metrics.transit.percentiles.p99,
    ownShare,
    restShare,
  };
}

async function measureIdle(gateway: Contender, upstream: Upstream, say: (sentence: string) => void) {
  const points: { streams: number; bytes: number }[] = [];
  const opened = [];
  let streams = 0;
  for (const step of idleSteps) {
    opened.push(await openIdleStreams(gateway, upstream, step - streams));
    streams = step;
    await sleep(settleMs);
    const bytes = readMemory(gateway.roles, 'ingress');
    points.push({ streams, bytes });
    say(`${streams} idle streams: ingress ${(bytes / 1e6).toFixed(0)} MB`);
  }
  // In reverse: each `close` waits until only the streams are left that were open before it.
  for (const each of opened.reverse()) await each.close();
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) throw new Error('no idle stream was measured');
  const bytesPerStream = (last.bytes - first.bytes) / (last.streams - first.streams);
  const baseBytes = first.bytes - bytesPerStream * first.streams;
  const inGibibyte = Math.floor((gibibyte - baseBytes) / bytesPerStream);
  return { points, bytesPerStream, baseBytes, inGibibyte, measuredUpTo: last.streams };
}

function describe(found: Awaited<ReturnType<typeof measure>>): string {
  const errors = Object.entries(found.errors).map(([name, count]) => `, ${count} × ${name}`);
  const machine = `${percent(found.ownShare)} of the machine ours, ${percent(found.restShare)} anybody else's`;
  const figures = `${found.ok} complete, ${found.failed} failed, transit p99 ${ms(found.transitP99)}, ${machine}`;
  return [`${figures}${errors.join('')}`, ...found.findings].join('\n  ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}
