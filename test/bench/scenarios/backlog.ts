import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRedis, queueName, queuePrefix } from '@sluice/transport';
import { Queue } from 'bullmq';
import { type Gateway, pool } from '../contenders/gateway.ts';
import { models } from '../contenders/models.ts';
import { loadtest } from '../contenders/upstream.ts';
import { killWithUs } from '../machine/kill-with-us.ts';
import { type Bench, type Scenario, warmUp } from '../scenario.ts';

const jobs = 5000;
const pauseMs = 5;
const limitMs = 60_000;
/** Requests per second: slower than connections can be opened. */
const fillRate = 1500;
const quietMs = 3_000;
const fewestJobs = 4000;

/** How long a paused queue with 5,000 jobs takes to run empty once it is resumed. */
export const backlog: Scenario = {
  name: 'backlog',
  title: '5,000 queued jobs drained',
  kinds: ['gateway'],
  startsOthers: true,
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
  const redis = openRedis(gateway.redisUrl, { profile: 'worker', name: 'bench', onError: () => undefined });
  const queue = new Queue(queueName(pool), { connection: redis, prefix: queuePrefix(pool) });
  let client: ChildProcess | undefined;
  try {
    await queue.pause();
    const before = await bench.upstream.count();
    client = spawn(process.execPath, [loadtest, ...clientWords(gateway)], { stdio: 'ignore' });
    killWithUs(client);
    const ended = once(client, 'exit');
    const filled = await fill(queue);
    await queue.resume();
    const startedAt = performance.now();
    await untilTrue(
      async () => (await bench.upstream.count()).finished >= before.finished + filled,
      'the backlog to drain',
    );
    const drainedMs = performance.now() - startedAt;
    await ended;
    // A busy machine may have refused some of the jobs; the time is scaled to all of them.
    return (drainedMs * jobs) / filled;
  } finally {
    // The client has ended by itself, unless something failed.
    client?.kill('SIGKILL');
    await queue.close();
    redis.disconnect();
  }
}

/** Waits until all jobs are queued, or no more come. Returns how many there are. */
async function fill(queue: Queue): Promise<number> {
  let count = 0;
  for (let grewAt = performance.now(); count < jobs && performance.now() - grewAt < quietMs; ) {
    const found = await queue.getPrioritizedCount();
    if (found > count) grewAt = performance.now();
    count = found;
    await sleep(pauseMs);
  }
  if (count < fewestJobs) throw new Error(`only ${count} jobs came into the queue`);
  return count;
}

function clientWords({ url, key = '' }: Gateway): string[] {
  const load = [
    '-r',
    String(fillRate),
    '--arrivals',
    'constant',
    '-n',
    String(jobs),
    '--single',
    '-d',
    '60s',
  ];
  return ['run', '-t', url, '-k', key, '-m', models.one, '-q', ...load];
}

async function untilTrue(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const endAt = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > endAt) throw new Error(`waited in vain for ${what}`);
    await sleep(pauseMs);
  }
}
