import { QueueKeys } from 'bullmq';
import { z } from 'zod';
import { queueName, queuePrefix } from '../names.ts';
import type { RedisClient } from '../redis/connection.ts';
import { readLuaScript, runLuaScript } from '../redis/lua-script.ts';

/** Where BullMQ keeps a pool's queue. `putJobs` of the scripts reads it under these names. */
export interface PoolQueueKeys {
  /** What the jobs' keys begin with. */
  readonly jobPrefix: string;
  /** Tells whether the queue is paused. */
  readonly meta: string;
  /** The jobs that wait: every job has a priority, so there is no other such place. */
  readonly prioritized: string;
  /** Counts the order within a priority. */
  readonly order: string;
  /** Gets a member when there is something to take. */
  readonly marker: string;
}

/** An attempt as the queue keeps it. */
export interface QueueEntry {
  id: string;
  /** JSON. */
  data: string;
  /** How long Redis keeps the data where nobody takes it, whole milliseconds. */
  lifeMs: number;
}

export interface QueuedJob extends QueueEntry {
  /** 1 (first) to 2^21-1. */
  priority: number;
}

/** A job that was taken out of the queue. */
export interface ClaimedJob {
  /** JSON. */
  data: string;
  /** How long Redis would have kept it yet, milliseconds; absent for one that was put in without such a time. */
  lifeMs?: number;
}

/** Defines `putJobs`, for every script that has something to put into a queue. */
export const putJobsFile = new URL('./scripts/put-jobs.lua', import.meta.url);
const enqueueScript = readLuaScript(putJobsFile, new URL('./scripts/enqueue.lua', import.meta.url));
const claimScript = readLuaScript(new URL('./scripts/claim.lua', import.meta.url));
/** What a claim takes at least before it leaves the rest. */
const enoughBytes = 1024 * 1024;
const claimedSchema = z.array(z.union([z.string(), z.number()]));

export function poolQueueKeys(pool: string): PoolQueueKeys {
  const keys = new QueueKeys(queuePrefix(pool)).getKeys(queueName(pool));
  const keyOf = (name: string): string => {
    const key = keys[name];
    if (key === undefined) throw new TypeError(`BullMQ has no key ${name}`);
    return key;
  };
  return {
    jobPrefix: keyOf(''),
    meta: keyOf('meta'),
    prioritized: keyOf('prioritized'),
    order: keyOf('pc'),
    marker: keyOf('marker'),
  };
}

/** As enqueue.lua and claim.lua number them. */
function numbered({ meta, prioritized, order, marker }: PoolQueueKeys): string[] {
  return [meta, prioritized, order, marker];
}

/*
 * BullMQ's own scripts take one job at a time, and two runs to claim it; these take many in one run. The queue stays
 * BullMQ's in every key: what one side puts in, the other can see, pause, remove and take (`queue-scripts.test.ts`).
 */

/** Puts jobs into the queue. A job that waits there already stays as it is. */
export async function enqueueJobs(
  redis: RedisClient,
  keys: PoolQueueKeys,
  jobs: readonly QueuedJob[],
): Promise<void> {
  const values: (string | number)[] = [keys.jobPrefix, Date.now()];
  for (const { id, data, lifeMs, priority } of jobs) values.push(id, data, lifeMs, priority);
  await runLuaScript(redis, enqueueScript, numbered(keys), values);
}

/**
 * Takes up to `count` jobs in the queue's order; none while the queue is paused. Who has taken a megabyte comes again
 * for more: to read dozens of large prompts at once would hold up a worker until it is taken for dead.
 */
export async function claimJobs(
  redis: RedisClient,
  keys: PoolQueueKeys,
  count: number,
): Promise<ClaimedJob[]> {
  const reply = await runLuaScript(redis, claimScript, numbered(keys), [keys.jobPrefix, count, enoughBytes]);
  const fields = claimedSchema.parse(reply);
  const claimed: ClaimedJob[] = [];
  for (let index = 0; index < fields.length; index += 2) {
    const lifeMs = Number(fields[index + 1]);
    claimed.push({ data: String(fields[index]), ...(lifeMs >= 0 && { lifeMs }) });
  }
  return claimed;
}
