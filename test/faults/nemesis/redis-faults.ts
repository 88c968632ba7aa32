import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@sluice/testing';
import { budgetKeys, tenantOf } from '../aftermath.ts';
import type { Installation } from '../installation/installation.ts';
import type { Random } from '../random.ts';
import type { FaultKind } from './fault-kind.ts';

/** The only fault that loses what Redis knows: keys, charges, reservations, jobs. */
export const dataLoss = 'redis restarted without its data';

type Deed = (installation: Installation, random: Random) => Promise<void>;

const deeds: readonly { name: string; deed: Deed }[] = [
  { name: 'redis CLIENT KILL TYPE pubsub', deed: command('CLIENT', 'KILL', 'TYPE', 'pubsub') },
  { name: 'redis CLIENT KILL TYPE normal', deed: command('CLIENT', 'KILL', 'TYPE', 'normal') },
  { name: 'redis SCRIPT FLUSH', deed: command('SCRIPT', 'FLUSH') },
  { name: 'redis CLIENT PAUSE', deed: pauseClients('ALL') },
  { name: 'redis CLIENT PAUSE WRITE', deed: pauseClients('WRITE') },
  { name: 'redis without its replicas', deed: refuseWrites },
  { name: 'redis user without channels', deed: takeChannels },
  { name: 'redis DEBUG SLEEP', deed: sleepRedis },
  { name: 'redis suspended', deed: suspendRedis },
  { name: 'redis pubsub buffer limit', deed: shrinkBuffers },
  { name: 'redis restarted with its data', deed: (installation) => restartRedis(installation) },
  { name: dataLoss, deed: loseData },
];

/** Faults of Redis, as operators, load and bad luck cause them. */
export const redisFaults: readonly FaultKind[] = deeds.map(({ name, deed }) => ({
  name,
  target: () => 'redis',
  inflict: (installation, _target, random) => deed(installation, random),
}));

function command(name: string, ...words: string[]): Deed {
  return async ({ operator }) => {
    await operator.call(name, ...words).catch(() => undefined);
  };
}

function pauseClients(whom: 'ALL' | 'WRITE'): Deed {
  return async ({ operator }, random) => {
    const pauseMs = random.between(100, 4_000);
    await operator.call('CLIENT', 'PAUSE', String(pauseMs), whom).catch(() => undefined);
    await sleep(pauseMs);
  };
}

/** Makes Redis answer but refuse writes, as it does when it has too few replicas. */
async function refuseWrites({ operator }: Installation, random: Random): Promise<void> {
  await operator.config('SET', 'min-replicas-to-write', '1');
  await sleep(random.between(200, 4_000));
  await operator.config('SET', 'min-replicas-to-write', '0');
}

/** Takes the channels from our user: Redis cuts off its subscribers and refuses new subscriptions. */
async function takeChannels({ operator }: Installation, random: Random): Promise<void> {
  await operator.call('ACL', 'SETUSER', 'default', 'resetchannels');
  await sleep(random.between(200, 4_000));
  await operator.call('ACL', 'SETUSER', 'default', 'allchannels');
}

async function sleepRedis({ operator }: Installation, random: Random): Promise<void> {
  await operator.call('DEBUG', 'SLEEP', String(random.between(1, 15) / 10));
}

async function suspendRedis({ redis }: Installation, random: Random): Promise<void> {
  redis.suspend();
  await sleep(random.between(200, 4_000));
  redis.resume();
}

/** Makes Redis cut off subscribers that are only a little behind: what was in their buffers is lost. */
async function shrinkBuffers({ operator }: Installation): Promise<void> {
  const set = (limit: string) =>
    operator.config('SET', 'client-output-buffer-limit', `pubsub ${limit}`).catch(() => undefined);
  await set('1kb 1kb 1');
  await sleep(1_000);
  await set('33554432 8388608 60');
}

/** Ends Redis by SIGKILL and starts it again with its append-only file. */
async function restartRedis({ redis, operator }: Installation): Promise<void> {
  await redis.restart();
  await until(async () => (await operator.ping()) === 'PONG', { what: 'Redis to answer again' });
}

/**
 * Makes Redis lose everything and restart; then the operator mints keys and sets budgets again, as after a disaster.
 * What had been charged is read at the same instant in which it is lost, so that no charge escapes the checker.
 */
async function loseData(installation: Installation): Promise<void> {
  const { operator, lostCharges, apiKeys } = installation;
  const limits = { timeoutMs: 60_000, what: 'Redis to take commands' };
  await until(async () => {
    const keys = await budgetKeys(operator);
    const transaction = operator.multi();
    for (const key of keys) transaction.hget(key, 'spent');
    const answers = await transaction.flushall().exec();
    for (const [index, key] of keys.entries())
      lostCharges.push({ tenant: tenantOf(key), spent: Number(answers?.[index]?.[1]) });
    return true;
  }, limits);
  await restartRedis(installation);
  await until(() => installation.mintKeys(apiKeys.size).then(() => true), limits);
}
