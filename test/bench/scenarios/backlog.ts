import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { queueName, queuePrefix } from '@sluice/transport';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { type Gateway, pool } from '../gateway.ts';
import { models } from '../models.ts';
import { type Bench, type Scenario, warmUp } from '../scenario.ts';
import { loadtest } from '../upstream.ts';

const jobs = 5000;
const pauseMs = 5;
const limitMs = 60_000;

/** How long a paused queue with 5,000 jobs needs to run empty once it goes on. */
export const backlog: Scenario = {
  name: 'backlog',
  title: '5,000 queued jobs drained',
  kinds: ['gateway'],
  async measure(contender, bench) {
    const fresh = await contender.startAnother?.();
    if (!fresh) return {};
    try {
      // What starts a gateway returns one, with its Redis.
      return { drainMs: await measureDrain(fresh as Gateway, bench) };
    } finally {
      await fresh.stop();
    }
  },
};

async function measureDrain(gateway: Gateway, bench: Bench): Promise<number> {
  await warmUp(gateway, bench);
  const redis = new Redis(gateway.redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue(queueName(pool), { connection: redis, prefix: queuePrefix(pool) });
  try {
    await queue.pause();
    const before = await bench.upstream.count();
    const client = spawn(process.execPath, [loadtest, ...clientWords(gateway)], { stdio: 'ignore' });
    const ended = once(client, 'exit');
    await untilTrue(async () => (await queue.getPrioritizedCount()) === jobs, 'the queue to fill');
    await queue.resume();
    const startedAt = performance.now();
    await untilTrue(
      async () => (await bench.upstream.count()).finished >= before.finished + jobs,
      'the backlog to drain',
    );
    const drainedMs = performance.now() - startedAt;
    await ended;
    return drainedMs;
  } finally {
    await queue.close();
    redis.disconnect();
  }
}

function clientWords({ url, key = '' }: Gateway): string[] {
  const load = ['-u', String(jobs), '-n', String(jobs), '--burst', '--single', '-d', '60s'];
  return ['run', '-t', url, '-k', key, '-m', models.one, '-q', ...load];
}

async function untilTrue(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const endAt = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > endAt) throw new Error(`waited in vain for ${what}`);
    await sleep(pauseMs);
  }
}
