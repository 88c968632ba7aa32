import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SluiceError } from '@sluice/canonical';
import { bellKey } from '../names.ts';
import { openTwin, type RedisClient } from '../redis/connection.ts';
import { claimNotice } from './claim-notice.ts';
import { type InferenceJob, keptAfterDeadlineMs, parseJob } from './job.ts';
import { heapBytesOf, JobRoom } from './job-room.ts';
import { type ClaimedJob, claimJobs, claimSmallJobs, poolQueueKeys } from './queue-scripts.ts';

/** The worker's end of one pool's queue. */
export interface JobConsumer {
  start(): void;
  /** Stops taking jobs. Resolves when no claim is under way; running generations are not awaited. */
  stop(): Promise<void>;
  /** Generations that hold a slot now. */
  readonly busy: number;
}

/** What a consumer takes, and what it does with it. */
export interface ConsumerOptions {
  pool: string;
  /** How many generations may run at once. */
  slots: number;
  /** A connection of the `worker` profile. A second one like it is opened, to wait for jobs on. */
  redis: RedisClient;
  /** Memory for the jobs that run. While it is full, none is claimed. Default: room for all. */
  room?: JobRoom;
  /** The worker's id, under which a claim tells the ingresses of its jobs. Default: a claim tells nobody. */
  worker?: string;
  /**
   * Runs a job; its slot is free again when the promise settles. Must not reject. `isAnnounced`: the claim has told
   * the job's ingress who has it.
   */
  run(job: InferenceJob, isAnnounced: boolean): Promise<void>;
  /** Whether jobs may be taken now; asked before each claim. Default: always. */
  isOpen?(): boolean;
  /** Called with the first error of Redis in a row, and for each job that cannot be parsed; the consumer goes on. */
  onError(error: Error): void;
  /** Epoch milliseconds, the clock of the deadlines that `run` gets. Default: the host's. */
  now?(): number;
}

/** The most jobs per script run, so that Redis is not kept from others. */
const claimLimit = 32;
/** The most jobs of the first claim after a wait. Other workers have waited, too, and wake up before it claims more. */
const firstClaimLimit = 2;
/** How long a stop waits for commands that are under way. Without Redis, they would never return. */
const stopLimitMs = 1_000;
const errorPauseMs = 250;
/** How soon a consumer that is not open asks again whether it is. */
const closedPauseMs = 25;
/** Seconds. A wait that Redis has forgotten in a failover lasts no longer than this. */
const waitLimitSeconds = 1;
const bellLifeMs = 2_000;

/**
 * Claims jobs, as many at once as there is room for. A claim removes its jobs from Redis in the same step ("finish at
 * claim"), and outside of a cluster tells their ingresses; from then on the reply protocol protects the generation. If a
 * job is lost between Redis and the worker, because a process died or a connection broke, its ingress notices and sends
 * it again as the next attempt.
 */
export function createJobConsumer(options: ConsumerOptions): JobConsumer {
  const { pool, slots, redis, worker, run, onError, isOpen = () => true, now = Date.now } = options;
  const { room = new JobRoom(Number.POSITIVE_INFINITY) } = options;
  const keys = poolQueueKeys(pool);
  const notice = worker === undefined ? undefined : claimNotice(redis, worker);
  const bell = bellKey(pool, randomUUID());
  const waiting = openTwin(redis);
  let busy = 0;
  let isStopping = false;
  let wake: (() => void) | undefined;
  let loop: Promise<void> | undefined;

  const release = (bytes: number): void => {
    room.give(bytes);
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

  const begin = ({ data, lifeMs, isAnnounced }: ClaimedJob): void => {
    let job: InferenceJob;
    try {
      job = parseJob(data);
    } catch (error) {
      onError(error as SluiceError);
      return;
    }
    const leftMs = timeLeft(job, lifeMs, now());
    // Its ingress has ended it by now, or has died. If it only seems so because the clock of Redis was set, the ingress
    // finds the job missing and sends it again.
    if (leftMs <= 0) return;
    job.deadlineAt = now() + leftMs;
    busy += 1;
    const bytes = heapBytesOf(data);
    room.take(bytes);
    const end = (): void => release(bytes);
    void run(job, isAnnounced).then(end, (error: Error) => {
      end();
      onError(error);
    });
  };

  /**
   * Waits for a job and claims it in one go: both commands are sent at once, and the second runs when the first
   * returns.
   */
  const claimNext = async (count: number): Promise<ClaimedJob[] | 'large'> => {
    const waited = waiting.bzpopmin(keys.marker, bell, waitLimitSeconds).then(
      () => undefined,
      (error: Error) => error,
    );
    const claimed = await claimSmallJobs(waiting, keys, count, notice);
    const error = await waited;
    if (error && claimed.length === 0) throw error;
    return claimed;
  };

  /** Claims a job that may fill the room by itself. Only in turn: the consumers that share the room see it filled. */
  const claimLarge = async (): Promise<void> => {
    if (isStopping || room.isFull || !isOpen()) return;
    for (const job of await claimJobs(redis, keys, 1, notice)) begin(job);
  };

  const fetchLoop = async (): Promise<void> => {
    let isEmpty = false;
    let isRefused = false;
    while (!isStopping) {
      if (busy >= slots) {
        await slotIsFree();
        continue;
      }
      if (room.isFull || !isOpen()) {
        await sleep(closedPauseMs);
        continue;
      }
      // Only half of the free slots are filled at once, so that the workers of a pool fill up evenly.
      const count = Math.min(isEmpty ? firstClaimLimit : claimLimit, Math.ceil((slots - busy) / 2));
      try {
        const claimed: ClaimedJob[] | 'large' = await (isEmpty
          ? claimNext(count)
          : claimSmallJobs(redis, keys, count, notice));
        isRefused = false;
        if (claimed === 'large') {
          isEmpty = false;
          await room.inTurn(claimLarge);
          continue;
        }
        // After a wait, a claim that is not full has most likely emptied the queue. A queue that was busy may be
        // filling up again, so it counts as empty only if nothing was claimed.
        isEmpty = claimed.length < (isEmpty ? count : 1);
        for (const job of claimed) begin(job);
      } catch (error) {
        if (isStopping) return;
        if (!isRefused) onError(error as Error);
        isRefused = true;
        await sleep(errorPauseMs);
      }
    }
  };

  /** Wakes the waiting command. The connection is not simply cut, because a claim may be arriving on it. */
  const endWait = async (): Promise<void> => {
    try {
      await redis.zadd(bell, 0, 'stop');
      await redis.pexpire(bell, bellLifeMs);
    } catch {
      // Redis is away: then the stop ends at its limit.
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
 * How much time a job has left, milliseconds. The clocks of hosts differ, so Redis decides when no time is left. But
 * the clock of Redis may be set, and that of a replica that takes over may differ. So until then, the longer of the
 * times by Redis and by our clock counts, up to the whole time of the job: ending a job too early fails its request,
 * while a job that runs too long is cancelled by its ingress anyway.
 */
function timeLeft({ deadlineAt, enqueuedAt }: InferenceJob, lifeMs: number | undefined, now: number): number {
  const wholeMs = deadlineAt - enqueuedAt;
  if (lifeMs === undefined) return wholeMs;
  const byRedisMs = lifeMs - keptAfterDeadlineMs;
  return byRedisMs <= 0 ? 0 : Math.min(wholeMs, Math.max(byRedisMs, deadlineAt - now));
}
