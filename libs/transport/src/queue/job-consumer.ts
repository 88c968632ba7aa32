import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SluiceError } from '@sluice/canonical';
import { bellKey } from '../names.ts';
import { openTwin, type RedisClient } from '../redis/connection.ts';
import { type ClaimNotice, claimNotice } from './claim-notice.ts';
import { type InferenceJob, keptAfterDeadlineMs, parseJob } from './job.ts';
import { heapBytesOf, JobRoom } from './job-room.ts';
import { LineWatch } from './line-watch.ts';
import {
  type ClaimedJob,
  claimJobs,
  claimSmallJobs,
  type PoolQueueKeys,
  poolQueueKeys,
} from './queue-scripts.ts';

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
  /**
   * Called with the first error of Redis in a row, when it refuses the connection on which the consumer waits, and for
   * each job that cannot be parsed; the consumer goes on.
   */
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
/** A claim whose answer brings nothing large takes no longer than this, apart from its wait. */
const readingAfterMs = 100;
const readingLimitMs = 60_000;

/**
 * The worker's end of one pool's queue. It claims jobs, as many at once as there is room for. A claim removes its jobs
 * from Redis in the same step ("finish at claim"), and outside of a cluster tells their ingresses; from then on the
 * reply protocol protects the generation. If a job is lost between Redis and the worker, because a process died or a
 * connection broke, its ingress notices and sends it again as the next attempt.
 */
export class JobConsumer {
  /** Generations that hold a slot now. */
  busy = 0;
  private readonly options: ConsumerOptions;
  private readonly room: JobRoom;
  private readonly keys: PoolQueueKeys;
  private readonly notice: ClaimNotice | undefined;
  /** A key of our own that ends the wait for a job. */
  private readonly bell: string;
  /** The connection on which we wait. */
  private readonly waiting: RedisClient;
  private readonly watch: LineWatch;
  private isStopping = false;
  /** Called when a slot becomes free; absent while none is waited for. */
  private wake: (() => void) | undefined;
  private loop: Promise<void> | undefined;
  /** The claim that is under way, or the last one. */
  private underWay: Promise<unknown> = Promise.resolve();
  /** From when on it takes long, monotonic milliseconds; absent while none is under way. */
  private lateAt: number | undefined;

  /** It takes nothing before it is started. */
  constructor(options: ConsumerOptions) {
    const { pool, redis, worker, room = new JobRoom(Number.POSITIVE_INFINITY) } = options;
    this.options = options;
    this.room = room;
    this.keys = poolQueueKeys(pool);
    this.notice = worker === undefined ? undefined : claimNotice(redis, worker);
    this.bell = bellKey(pool, randomUUID());
    this.waiting = openTwin(redis);
    this.watch = new LineWatch(this.waiting, redis, options.onError);
  }

  /**
   * Whether the answer to a claim takes longer than the wait for a job can: one may be on its way, and large. After a
   * minute it no longer counts as that.
   */
  get isReading(): boolean {
    const lateMs = this.lateAt === undefined ? 0 : performance.now() - this.lateAt;
    return lateMs > 0 && lateMs < readingLimitMs;
  }

  /**
   * Whether it can't notice jobs, since Redis serves its connection but refuses the one on which it waits. Ask a few
   * times a second.
   */
  isDeaf(): boolean {
    return this.watch.isRefused();
  }

  start(): void {
    this.loop ??= this.fill();
  }

  /** Stops taking jobs. Resolves when no claim is under way; running generations are not awaited. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.wake?.();
    const limit = sleep(stopLimitMs, undefined, { ref: false });
    if (this.loop) await Promise.race([Promise.all([this.loop, this.endWait()]), limit]);
    this.waiting.disconnect();
  }

  /** Resolves once the jobs of the claim that is under way, if any, have been given to `run`, or are lost. */
  claimed(): Promise<void> {
    return this.underWay.then(
      () => undefined,
      () => undefined,
    );
  }

  /** Claims jobs until the consumer stops. */
  private async fill(): Promise<void> {
    let isEmpty = false;
    let isRefused = false;
    while (!this.isStopping) {
      if (this.busy >= this.options.slots) {
        await this.slotIsFree();
        continue;
      }
      if (!this.mayClaim()) {
        await sleep(closedPauseMs);
        continue;
      }
      try {
        this.lateAt = performance.now() + readingAfterMs + (isEmpty ? 1_000 * waitLimitSeconds : 0);
        const claim = this.claim(isEmpty);
        this.underWay = claim;
        isEmpty = await claim.finally(() => {
          this.lateAt = undefined;
        });
        isRefused = false;
      } catch (error) {
        if (this.isStopping) return;
        if (!isRefused) this.options.onError(error as Error);
        isRefused = true;
        await sleep(errorPauseMs);
      }
    }
  }

  private mayClaim(): boolean {
    const { isOpen } = this.options;
    return !this.room.isFull && (isOpen?.() ?? true);
  }

  private slotIsFree(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  /** Claims once, after a wait for a job if the queue `wasEmpty`. Returns whether the queue seems to be empty now. */
  private async claim(wasEmpty: boolean): Promise<boolean> {
    // Only half of the free slots are filled at once, so that the workers of a pool fill up evenly.
    const half = Math.ceil((this.options.slots - this.busy) / 2);
    const count = Math.min(wasEmpty ? firstClaimLimit : claimLimit, half);
    const claimed = await (wasEmpty ? this.claimNext(count) : this.claimSmall(this.options.redis, count));
    if (claimed === 'large') {
      await this.room.inTurn(() => this.claimLarge());
      return false;
    }
    for (const job of claimed) this.begin(job);
    // After a wait, a claim that is not full has most likely emptied the queue. A queue that was busy may be filling up
    // again, so it counts as empty only if nothing was claimed.
    return claimed.length < (wasEmpty ? count : 1);
  }

  /**
   * Waits for a job and claims it in one go: both commands are sent at once, and the second runs when the first
   * returns.
   */
  private async claimNext(count: number): Promise<ClaimedJob[] | 'large'> {
    const waited = this.waiting.bzpopmin(this.keys.marker, this.bell, waitLimitSeconds).then(
      () => undefined,
      (error: Error) => error,
    );
    const claimed = await this.claimSmall(this.waiting, count);
    const error = await waited;
    if (error && claimed.length === 0) throw error;
    return claimed;
  }

  private claimSmall(redis: RedisClient, count: number): Promise<ClaimedJob[] | 'large'> {
    return claimSmallJobs(redis, this.keys, count, this.notice);
  }

  /** Claims a job that may fill the room by itself. Only in turn: the consumers that share the room see it filled. */
  private async claimLarge(): Promise<void> {
    if (this.isStopping || !this.mayClaim()) return;
    for (const job of await claimJobs(this.options.redis, this.keys, 1, this.notice)) this.begin(job);
  }

  private begin({ data, lifeMs, isAnnounced }: ClaimedJob): void {
    const { run, onError, now = Date.now } = this.options;
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
    this.busy += 1;
    const bytes = heapBytesOf(data);
    this.room.take(bytes);
    const end = (): void => this.release(bytes);
    void run(job, isAnnounced).then(end, (error: Error) => {
      end();
      onError(error);
    });
  }

  private release(bytes: number): void {
    this.room.give(bytes);
    this.busy -= 1;
    this.wake?.();
  }

  /** Wakes the waiting command. The connection is not simply cut, because a claim may be arriving on it. */
  private async endWait(): Promise<void> {
    const { redis } = this.options;
    try {
      await redis.zadd(this.bell, 0, 'stop');
      await redis.pexpire(this.bell, bellLifeMs);
    } catch {
      // Redis is away: then the stop ends at its limit.
    }
  }
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
