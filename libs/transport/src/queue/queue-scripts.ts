import { QueueKeys } from 'bullmq';
import { z } from 'zod';
import { queueName, queuePrefix } from '../names.ts';
import type { RedisClient } from '../redis/connection.ts';
import { type LuaValue, readLuaScript, runLuaScript } from '../redis/lua-script.ts';
import type { ClaimNotice } from './claim-notice.ts';

/** The keys in which BullMQ keeps a pool's queue. `putJobs` in the scripts reads them under these names. */
export interface PoolQueueKeys {
  /** Prefix of the keys of jobs. */
  readonly jobPrefix: string;
  /** Tells whether the queue is paused. */
  readonly meta: string;
  /** The waiting jobs. All of them are here, because every job has a priority. */
  readonly prioritized: string;
  /** Counter that orders the jobs of one priority. */
  readonly order: string;
  /** Gets a member when there is a job to take. */
  readonly marker: string;
}

/** An attempt as the queue keeps it. */
export interface QueueEntry {
  id: string;
  /** JSON; if it is large, its UTF-8. */
  data: string | Buffer;
  /** How long Redis keeps the data if nobody takes the job, whole milliseconds. */
  lifeMs: number;
}

/** An attempt with its priority. */
export interface QueuedJob extends QueueEntry {
  /** 1 (first) to 2^21-1. BullMQ sees whole numbers; a fraction of up to 16 bits orders the jobs within one. */
  priority: number;
}

/** A job that was taken out of the queue. */
export interface ClaimedJob {
  /** JSON. */
  data: string;
  /** How much longer Redis would have kept it, milliseconds; absent if it was put in without an expiry. */
  lifeMs?: number;
  /** Whether the claim itself has told the job's ingress who has it. */
  isAnnounced: boolean;
}

/** The file that defines `putJobs`, for every script that puts jobs into a queue. */
export const putJobsFile = new URL('./scripts/put-jobs.lua', import.meta.url);
const enqueueScript = readLuaScript(putJobsFile, new URL('./scripts/enqueue.lua', import.meta.url));
const claimScript = readLuaScript(new URL('./scripts/claim.lua', import.meta.url));
/** A claim takes no further job once it has this much. A job that has more is large. */
const enoughBytes = 1024 * 1024;
const claimedSchema = z.array(z.union([z.string(), z.number()]));

/** The keys of a pool's queue, as BullMQ names them. */
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

/** The keys in the order in which enqueue.lua and claim.lua expect them. */
function numbered({ meta, prioritized, order, marker }: PoolQueueKeys): string[] {
  return [meta, prioritized, order, marker];
}

/*
 * BullMQ's own scripts handle one job at a time, and need two runs to claim it; ours handle many in one run. The keys
 * keep BullMQ's layout: each side can see, pause, remove and take what the other puts in (`queue-scripts.test.ts`).
 */

/** Puts jobs into the queue. A job that waits there already stays as it is. */
export async function enqueueJobs(
  redis: RedisClient,
  keys: PoolQueueKeys,
  jobs: readonly QueuedJob[],
): Promise<void> {
  const values: LuaValue[] = [keys.jobPrefix, Date.now()];
  for (const { id, data, lifeMs, priority } of jobs) values.push(id, data, lifeMs, priority);
  await runLuaScript(redis, enqueueScript, numbered(keys), values);
}

/**
 * Takes up to `count` jobs in the queue's order; none while the queue is paused. It stops after a megabyte, because
 * parsing dozens of large prompts at once would block a worker until it is taken for dead. With a `notice`, the claim
 * tells the ingresses of the jobs. Default: it tells nobody.
 */
export async function claimJobs(
  redis: RedisClient,
  keys: PoolQueueKeys,
  count: number,
  notice?: ClaimNotice,
): Promise<ClaimedJob[]> {
  return readJobs(await runClaim(redis, keys, count, Number.MAX_SAFE_INTEGER, notice));
}

/** The same up to the first large job, of more than a megabyte. `large`: the first one is, and none was taken. */
export async function claimSmallJobs(
  redis: RedisClient,
  keys: PoolQueueKeys,
  count: number,
  notice?: ClaimNotice,
): Promise<ClaimedJob[] | 'large'> {
  const fields = await runClaim(redis, keys, count, enoughBytes, notice);
  return fields[0] === 'large' ? 'large' : readJobs(fields);
}

type Fields = z.output<typeof claimedSchema>;

async function runClaim(
  redis: RedisClient,
  keys: PoolQueueKeys,
  count: number,
  mostBytes: number,
  notice: ClaimNotice | undefined,
): Promise<Fields> {
  const values: LuaValue[] = [keys.jobPrefix, count, enoughBytes, mostBytes];
  if (notice) values.push(notice.beforeIngress, notice.afterIngress, notice.head);
  return claimedSchema.parse(await runLuaScript(redis, claimScript, numbered(keys), values));
}

function readJobs(fields: Fields): ClaimedJob[] {
  const claimed: ClaimedJob[] = [];
  for (let index = 0; index < fields.length; index += 3) {
    const lifeMs = Number(fields[index + 1]);
    const isAnnounced = fields[index + 2] === 1;
    claimed.push({ data: String(fields[index]), ...(lifeMs >= 0 && { lifeMs }), isAnnounced });
  }
  return claimed;
}
