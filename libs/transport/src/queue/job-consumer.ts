import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SluiceError } from '@sluice/canonical';
import { bellKey } from '../names.ts';
import { openTwin, type RedisClient } from '../redis/connection.ts';
import { type InferenceJob, keptAfterDeadlineMs, parseJob } from './job.ts';
import { type ClaimedJob, claimJobs, poolQueueKeys } from './queue-scripts.ts';

/** The worker's end of one pool's queue. */
export interface JobConsumer {
  start(): void;
  /** Takes no further job. Resolves when no fetch is under way; generations that run are not awaited. */
  stop(): Promise<void>;
  /** Generations that hold a slot now. */
  readonly busy: number;
}

export interface ConsumerOptions {
  pool: string;
  /** How many generations may run at once. */
  slots: number;
  /** A connection of the `worker` profile; its twin waits for jobs. */
  redis: RedisClient;
  /** Runs a job; its slot is free again when the promise settles. Must not reject. */
  run(job: InferenceJob): Promise<void>;
  /** Whether jobs may be taken now; asked before each fetch. Default: always. */
  isOpen?(): boolean;
  /** Told about the first error of Redis after a fetch, and about jobs that could not be read; fetching goes on. */
  onError(error: Error): void;
  /** Epoch milliseconds, in which deadlines are told to `run`. Default: the host's. */
  now?(): number;
}

/** Jobs per script: more would keep Redis from others. */
const claimLimit = 32;
/** What a worker takes that has waited: others wait as well, and wake up while it comes for more. */
const firstClaimLimit = 2;
/** How long a stop waits for commands that are under way; without Redis they would never come back. */
const stopLimitMs = 1_000;
const errorPauseMs = 250;
/** How soon a consumer that is not open is asked again. */
const closedPauseMs = 25;
/** Seconds. A wait that Redis forgot in a failover costs at most this. */
const waitLimitSeconds = 1;
const bellLifeMs = 2_000;

/**
 * Takes jobs, as many at once as there is room for, and out of Redis with the same step ("finish at claim"): from then
 * on the reply protocol protects the generation. What is lost between the claim and its announcement, because a
 * process died or a connection broke, is missed by its ingress and comes again as the next attempt.
 */
export function createJobConsumer(options: ConsumerOptions): JobConsumer {
  const { pool, slots, redis, run, onError, isOpen = () => true, now = Date.now } = options;
  const keys = poolQueueKeys(pool);
  const bell = bellKey(pool, randomUUID());
  const waiting = openTwin(redis);
  let busy = 0;
  let isStopping = false;
  let wake: (() => void) | undefined;
  let loop: Promise<void> | undefined;

  const release = (): void => {
    busy -= 1;
    wake?.();
  };
  const slotIsFree = (): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        wake = undefined;
        resolve();
      };
    });

  const begin = ({ data, lifeMs }: ClaimedJob): void => {
    let job: InferenceJob;
    try {
      job = parseJob(data);
    } catch (error) {
      onError(error as SluiceError);
      return;
    }
    const leftMs = timeLeft(job, lifeMs, now());
    // Its ingress has ended it by now, or died. If it is Redis' clock that was set, the ingress misses it and sends it again.
    if (leftMs <= 0) return;
    job.deadlineAt = now() + leftMs;
    busy += 1;
    void run(job).then(release, (error: Error) => {
      release();
      onError(error);
    });
  };

  /** Waits for a job and claims in one go: the second command is with Redis already when the first one ends. */
  const claimNext = async (count: number): Promise<ClaimedJob[]> => {
    const waited = waiting.bzpopmin(keys.marker, bell, waitLimitSeconds).then(
      () => undefined,
      (error: Error) => error,
    );
    const claimed = await claimJobs(waiting, keys, count);
    const error = await waited;
    if (error && claimed.length === 0) throw error;
    return claimed;
  };

  const fetchLoop = async (): Promise<void> => {
    let isEmpty = false;
    let isRefused = false;
    while (!isStopping) {
      if (busy >= slots) {
        await slotIsFree();
        continue;
      }
      if (!isOpen()) {
        await sleep(closedPauseMs);
        continue;
      }
      // Half of the room, so that the workers of a pool fill up together.
      const count = Math.min(isEmpty ? firstClaimLimit : claimLimit, Math.ceil((slots - busy) / 2));
      try {
        const claimed: ClaimedJob[] = await (isEmpty ? claimNext(count) : claimJobs(redis, keys, count));
        // One job that wakes a worker is mostly all that there is; a queue that was long may be filling up again.
        isEmpty = claimed.length < (isEmpty ? count : 1);
        isRefused = false;
        for (const job of claimed) begin(job);
      } catch (error) {
        if (isStopping) return;
        if (!isRefused) onError(error as Error);
        isRefused = true;
        await sleep(errorPauseMs);
      }
    }
  };

  /** Without cutting the connection, on which a claim may be coming. */
  const endWait = async (): Promise<void> => {
    try {
      await redis.zadd(bell, 0, 'stop');
      await redis.pexpire(bell, bellLifeMs);
    } catch {
      // Redis is away: then the limit of the stop ends it.
    }
  };

  return {
    get busy() {
      return busy;
    },
    start: () => {
      loop ??= fetchLoop();
    },
    stop: async () => {
      isStopping = true;
      wake?.();
      const limit = sleep(stopLimitMs, undefined, { ref: false });
      if (loop) await Promise.race([Promise.all([loop, endWait()]), limit]);
      waiting.disconnect();
    },
  };
}

/**
 * How much of its time a job has, milliseconds. The clocks of two hosts differ, so none is left when Redis says so. But
 * that of Redis may be set, and that of a replica which takes over may differ, too: before that, whoever says more is
 * believed, up to all that there was. To end a job too early fails its request; one that is late is cancelled anyway.
 */
function timeLeft({ deadlineAt, enqueuedAt }: InferenceJob, lifeMs: number | undefined, now: number): number {
  const wholeMs = deadlineAt - enqueuedAt;
  if (lifeMs === undefined) return wholeMs;
  const byRedisMs = lifeMs - keptAfterDeadlineMs;
  return byRedisMs <= 0 ? 0 : Math.min(wholeMs, Math.max(byRedisMs, deadlineAt - now));
}
