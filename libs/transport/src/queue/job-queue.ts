import { encodeLarge, TurnBatch, withoutRedis } from '@sluice/runtime';
import { Queue } from 'bullmq';
import { attemptId, queueName, queuePrefix } from '../names.ts';
import type { RedisClient } from '../redis/connection.ts';
import type { Attempt } from '../replies/frame.ts';
import { type InferenceJob, keptAfterDeadlineMs } from './job.ts';
import {
  enqueueJobs,
  type PoolQueueKeys,
  poolQueueKeys,
  type QueuedJob,
  type QueueEntry,
} from './queue-scripts.ts';

/** The ingress's end of the pools' queues. */
export interface JobQueue {
  /** Puts an attempt into its pool's queue, with the priority of a `QueuedJob`. Throws `unavailable` without Redis. */
  enqueue(pool: string, job: InferenceJob, priority: number): Promise<void>;
  /** Takes an attempt out of the queue, if it still waits there. */
  remove(pool: string, requestId: string, attempt: number): Promise<void>;
  /** Jobs that wait in a pool. */
  depth(pool: string): Promise<number>;
  /** Which of these attempts are waiting now, in the same order. */
  areWaiting(pool: string, attempts: readonly Attempt[]): Promise<boolean[]>;
  close(): Promise<void>;
}

interface PoolQueue {
  readonly keys: PoolQueueKeys;
  /** Puts all jobs of one event-loop turn into the queue with one script run. */
  readonly entrance: TurnBatch<QueuedJob, true>;
  /** For rare operations. */
  readonly bullmq: Queue;
}

/** Opens the queues of all pools on one connection, which is not closed with them. */
export function createJobQueue(redis: RedisClient): JobQueue {
  const pools = new Map<string, PoolQueue>();
  const queueOf = (pool: string): PoolQueue => {
    let queue = pools.get(pool);
    if (!queue) {
      queue = openPoolQueue(redis, pool);
      pools.set(pool, queue);
    }
    return queue;
  };
  const guard = async <Result>(command: () => Promise<Result>): Promise<Result> => {
    try {
      // BullMQ would wait for a Redis that is away before its first command.
      if (redis.status !== 'ready') throw new Error('not connected');
      return await command();
    } catch (cause) {
      throw withoutRedis('the queue is not reachable', cause);
    }
  };

  return {
    enqueue: async (pool, job, priority) => {
      const { id, data, lifeMs } = queueEntry(job);
      await guard(() => queueOf(pool).entrance.add({ id, data, lifeMs, priority }));
    },
    remove: async (pool, requestId, attempt) => {
      await guard(() => queueOf(pool).bullmq.remove(attemptId({ requestId, attempt })));
    },
    depth: async (pool) => guard(() => redis.zcard(queueOf(pool).keys.prioritized)),
    areWaiting: async (pool, attempts) => {
      if (attempts.length === 0) return [];
      const ids = attempts.map(attemptId);
      const scores = await guard(() => redis.zmscore(queueOf(pool).keys.prioritized, ...ids));
      return scores.map((score) => score !== null);
    },
    close: async () => {
      await Promise.allSettled([...pools.values()].map(({ bullmq }) => bullmq.close()));
    },
  };
}

/** The form in which the queue keeps an attempt. */
export function queueEntry(job: InferenceJob): QueueEntry {
  const { version, requestId, attempt, replyTo } = job;
  // In this order: the script that claims the job reads its beginning, see scripts/claim.lua.
  const beginning = { version, requestId, attempt, replyTo };
  const text = JSON.stringify({ ...beginning, ...job });
  const leftMs = Math.max(0, Math.ceil(job.deadlineAt - job.enqueuedAt));
  return {
    id: attemptId(job),
    data: encodeLarge(text),
    lifeMs: leftMs + keptAfterDeadlineMs,
  };
}

function openPoolQueue(redis: RedisClient, pool: string): PoolQueue {
  const keys = poolQueueKeys(pool);
  const bullmq = new Queue(queueName(pool), {
    connection: redis,
    prefix: queuePrefix(pool),
    skipVersionCheck: true,
    // Nobody reads BullMQ's log of events.
    streams: { events: { maxLen: 100 } },
  });
  // These errors also reject the promises of their commands, or are logged by the owner of the connection.
  bullmq.on('error', () => undefined);
  const entrance = new TurnBatch<QueuedJob, true>(async (jobs) => {
    await enqueueJobs(redis, keys, jobs);
    return jobs.map(() => true);
  });
  return { keys, entrance, bullmq };
}
