import { until } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { leftoverKeys } from '../support/redis-keys.ts';
import type { Installation } from './installation/installation.ts';
import { seriesOf } from './installation/member.ts';
import type { BudgetSample, Leftovers } from './observation.ts';

/** Gauges that are 0 in an idle process. */
const restingGauges = [
  'sluice_requests_in_flight',
  'sluice_queue_depth',
  'sluice_slots_busy',
  'sluice_kept_frames_characters',
];
/** Within this time, frames kept for a dead ingress and leases of dead processes are gone. */
const restLimitMs = 75_000;

/** Waits until nothing of the load is left, and returns what is still left when the wait is over. */
export async function settleDown(installation: Installation): Promise<Leftovers> {
  let leftovers: Leftovers = { gauges: {}, redis: {}, keysWithoutExpiry: [] };
  const isClean = async (): Promise<boolean> => {
    leftovers = await findLeftovers(installation);
    const counts = [...Object.values(leftovers.gauges), ...Object.values(leftovers.redis)];
    return counts.every((count) => count === 0) && leftovers.keysWithoutExpiry.length === 0;
  };
  await until(isClean, { timeoutMs: restLimitMs, intervalMs: 500 }).catch(() => undefined);
  return leftovers;
}

async function findLeftovers(installation: Installation): Promise<Leftovers> {
  const gauges: Record<string, number> = {};
  for (const member of installation.members) {
    for (const [index, text] of (await member.metricsTexts()).entries())
      for (const [series, value] of seriesOf(text))
        if (restingGauges.some((name) => series === name || series.startsWith(`${name}{`)))
          gauges[`${member.name}.${index} ${series}`] = value;
    gauges[`${member.name} connections`] = member.clientProxy?.connections ?? 0;
  }
  const { operator, redis } = installation;
  return {
    gauges,
    redis: await countHeld(operator),
    keysWithoutExpiry: await leftoverKeys(redis.url),
  };
}

/** Jobs, leases and reservations that somebody still holds. */
async function countHeld(operator: Redis): Promise<Record<string, number>> {
  const held: Record<string, number> = {};
  for (const key of await operator.keys('sluice:*')) {
    if (/:inference-[a-z0-9-]+:(prioritized|waiting-children|failed|completed|delayed)$/.test(key))
      held[key] = await operator.zcard(key);
    else if (/:inference-[a-z0-9-]+:(wait|active|paused)$/.test(key)) held[key] = await operator.llen(key);
    else if (/\}:open$/.test(key)) held[key] = await operator.zcard(key);
    else if (/\}:records$/.test(key)) held[key] = await operator.hlen(key);
    else if (/\}:(concurrency|leases):/.test(key)) held[key] = await operator.zcard(key);
    else if (/\}:token-budget:/.test(key))
      held[`${key} reserved`] = Number(await operator.hget(key, 'reserved'));
  }
  return held;
}

/**
 * The budget of every tenant now. A missing one means that nothing was booked, or nothing since Redis lost its data.
 */
export async function sampleBudgets({ operator, budget, apiKeys }: Installation): Promise<BudgetSample[]> {
  if (budget === undefined) return [];
  const keys = new Map((await budgetKeys(operator)).map((key) => [tenantOf(key), key]));
  const at = Date.now();
  return Promise.all(
    [...apiKeys.keys()].map(async (tenant) => {
      const key = keys.get(tenant);
      const [spent, reserved] = key === undefined ? [0, 0] : await operator.hmget(key, 'spent', 'reserved');
      return { at, tenant, spent: Number(spent), reserved: Number(reserved), limit: budget };
    }),
  );
}

/** The keys of the tenants' budgets. */
export function budgetKeys(operator: Redis): Promise<string[]> {
  return operator.keys('sluice:{t:*}:token-budget:tenant');
}

/** The tenant to whom a budget's key belongs. */
export function tenantOf(key: string): string {
  return /\{t:([^}]+)\}/.exec(key)?.[1] ?? '';
}

/** Everything in Redis as text: keys and values of every type. */
export async function dumpRedis(operator: Redis): Promise<string> {
  const texts: string[] = [];
  for (const key of await operator.keys('*')) {
    const type = await operator.type(key);
    const readers: Readonly<Record<string, () => Promise<unknown>>> = {
      string: () => operator.get(key),
      hash: () => operator.hgetall(key),
      list: () => operator.lrange(key, 0, -1),
      set: () => operator.smembers(key),
      zset: () => operator.zrange(key, '0', '-1'),
      stream: () => operator.xrange(key, '-', '+'),
    };
    texts.push(`${key} ${JSON.stringify(await readers[type]?.())}`);
  }
  return texts.join('\n');
}

/** Every counter, summed over all living processes. */
export async function sumCounters({ members }: Installation): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const member of members)
    for (const text of await member.metricsTexts())
      for (const [series, value] of seriesOf(text))
        if (series.includes('_total')) sums[series] = (sums[series] ?? 0) + value;
  return sums;
}
