import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from './contenders/contender.ts';
import { models } from './contenders/models.ts';
import { loadtest, type Upstream } from './contenders/upstream.ts';
import { killWithUs } from './machine/kill-with-us.ts';

/** Streams that have said one token and then nothing. */
export interface IdleStreams {
  close(): Promise<void>;
}

const openLimitMs = 120_000;
const pauseMs = 100;
const openedPerSecond = 1000;

/** Opens `count` idle streams through a contender and resolves when the upstream holds them all. */
export async function openIdleStreams(
  contender: Contender,
  upstream: Upstream,
  count: number,
): Promise<IdleStreams> {
  if (count === 0) return { close: async () => undefined };
  const before = (await upstream.count()).active;
  // An open loop with evenly spread arrivals: a closed one would open another stream for each that ends.
  const words = ['run', '-t', contender.url, '-m', models.idle, '-q', '--timeout', '3h', '--grace', '2h'];
  const load = ['-r', String(openedPerSecond), '--arrivals', 'constant', '-n', String(count), '-d', '1h'];
  const key = contender.key ? ['-k', contender.key] : [];
  const child = spawn(process.execPath, [loadtest, ...words, ...load, ...key], { stdio: 'ignore' });
  killWithUs(child);
  await awaitActive(upstream, (active) => active >= before + count, `${count} idle streams`);
  return {
    async close() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await awaitActive(upstream, (active) => active <= before, 'the end of the idle streams');
    },
  };
}

async function awaitActive(
  upstream: Upstream,
  isThere: (active: number) => boolean,
  what: string,
): Promise<void> {
  const endAt = performance.now() + openLimitMs;
  while (!isThere((await upstream.count()).active)) {
    if (performance.now() > endAt)
      throw new Error(`${what}: only ${(await upstream.count()).active} are active`);
    await sleep(pauseMs);
  }
}
