import { SluiceError } from '@sluice/canonical';
import { type JobsOptions, Queue } from 'bullmq';
import type { RedisClient } from './connection.ts';
import type { InferenceJob } from './job.ts';
import { jobId, queueName, queuePrefix, waitingKey } from './names.ts';

/** The ingress's end of the pools' queues. */
export interface JobQueue {
  /** Puts an attempt into its pool's queue. `priority` is 1 (first) to 2^21-1. Throws `unavailable` without Redis. */
  enqueue(pool: string, job: InferenceJob, priority: number): Promise<void>;
  /** Takes an attempt out of the queue, if it still waits there. */
  remove(pool: string, requestId: string, attempt: number): Promise<void>;
  /** Jobs that wait in a pool. */
  depth(pool: string): Promise<number>;
  /** Which of these attempts are waiting now, in the same order. */
  areWaiting(pool: string, attempts: readonly { requestId: string; attempt: number }[]): Promise<boolean[]>;
  close(): Promise<void>;
}

/**
 * A job is deleted the moment it is claimed or fails: prompts do not outlive their request in Redis, and the
 * frames' protocol, not BullMQ, protects a generation that runs.
 */
const jobOptions: JobsOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

export function createJobQueue(redis: RedisClient): JobQueue {
  const queues = new Map<string, Queue<InferenceJob>>();
  const queueOf = (pool: string): Queue<InferenceJob> => {
    let queue = queues.get(pool);
    if (!queue) {
      queue = new Queue<InferenceJob>(queueName(pool), {
        connection: redis,
        prefix: queuePrefix(pool),
        // BullMQ's event log serves nobody here and would grow to 10,000 entries.
        streams: { events: { maxLen: 100 } },
        skipVersionCheck: true,
      });
      // Every command's own promise rejects, too; the connection's owner logs its errors.
      queue.on('error', () => undefined);
      queues.set(pool, queue);
    }
    return queue;
  };
  const guard = async <Result>(command: () => Promise<Result>): Promise<Result> => {
    try {
      // A queue that is made while Redis is away would wait for it before its first command.
      if (redis.status !== 'ready') throw new Error('not connected');
      return await command();
    } catch (cause) {
      throw new SluiceError('unavailable', 'the queue is not reachable', { retryAfterMs: 1_000, cause });
    }
  };

  return {
    enqueue: async (pool, job, priority) => {
      const options = { ...jobOptions, jobId: jobId(job.requestId, job.attempt), priority };
      await guard(() => queueOf(pool).add('generate', job, options));
    },
    remove: async (pool, requestId, attempt) => {
      await guard(() => queueOf(pool).remove(jobId(requestId, attempt)));
    },
    depth: async (pool) => guard(() => redis.zcard(waitingKey(pool))),
    areWaiting: async (pool, attempts) => {
      if (attempts.length === 0) return [];
      const ids = attempts.map(({ requestId, attempt }) => jobId(requestId, attempt));
      const scores = await guard(() => redis.zmscore(waitingKey(pool), ...ids));
      return scores.map((score) => score !== null);
    },
    close: async () => {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
    },
  };
}
