import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';
import { Job, Worker } from 'bullmq';
import { Cluster } from 'ioredis';
import type { RedisClient } from './connection.ts';
import { type InferenceJob, parseJob } from './job.ts';
import { queueName, queuePrefix } from './names.ts';

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
  /** A connection of the `worker` profile; BullMQ opens its blocking twin itself. */
  redis: RedisClient;
  /** Runs a job; its slot is free again when the promise settles. Must not reject. */
  run(job: InferenceJob): Promise<void>;
  /** Told about Redis errors and about jobs that could not be read; fetching goes on. */
  onError(error: Error): void;
}

// One chain completes a claimed job and takes the next in the same script. 8 of them served 1.7 times the
// requests of one fetch at a time (`test/bench`), more gave nothing.
const chainLimit = 8;
/** How long a stop waits for commands that are under way; without Redis they would never come back. */
const stopLimitMs = 1_000;
const errorPauseMs = 250;
/**
 * BullMQ's word for "no lock": a job is active for one round trip and its claim is fenced by us, so a lock would be
 * four commands per job for nothing. The stall check still returns what a dying process left active.
 */
const token = '0';
/** Seconds. A blocked fetch that Redis forgot in a failover costs at most this. */
const blockLimitSeconds = 1;
/**
 * A blocked fetch in a cluster that takes longer has been lost: when masters change while BullMQ renews its blocking
 * connection, the two libraries can wait for each other for ever (bullmq 6.7.0, ioredis 6.0.0).
 */
const lostFetchMs = 1_000 * blockLimitSeconds + 3_000;

/**
 * Takes jobs and finishes them at once ("finish at claim"): from then on the reply protocol, not BullMQ's
 * lock, protects the generation. It keeps the active list short, whose length BullMQ pays for at every
 * completion, and lets a completion bring the next job along.
 */
export function createJobConsumer({ pool, slots, redis, run, onError }: ConsumerOptions): JobConsumer {
  let worker = createWorker(pool, redis);
  let busy = 0;
  const chains = new Set<Promise<void>>();
  let isStopping = false;
  let wake: (() => void) | undefined;
  let loop: Promise<void> | undefined;

  const release = (): void => {
    busy -= 1;
    wake?.();
  };
  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        wake = undefined;
        resolve();
      };
    });

  /** Runs a job that holds a slot already. */
  const begin = (job: Job<InferenceJob>): void => {
    let parsed: InferenceJob;
    try {
      parsed = parseJob(job.data);
    } catch (error) {
      release();
      onError(error as SluiceError);
      return;
    }
    void run(parsed).then(release, (error: Error) => {
      release();
      onError(error);
    });
  };

  /** Completes a claimed job; brings the next one when a slot is free, and goes on with it. */
  const chain = async (first: Job<InferenceJob>): Promise<void> => {
    let job: Job<InferenceJob> | undefined = first;
    while (job) {
      begin(job);
      const takeNext = !isStopping && busy < slots;
      if (takeNext) busy += 1;
      let next: unknown;
      try {
        next = await job.moveToCompleted(undefined, token, takeNext);
      } catch (error) {
        // The stall check took it, or Redis was away and the check will: its second run is fenced.
        onError(error as Error);
      }
      job = undefined;
      if (takeNext) {
        job = jobOf(worker, next);
        if (!job) release();
      }
    }
  };

  const take = (job: Job<InferenceJob>): void => {
    const running = chain(job).finally(() => {
      chains.delete(running);
      wake?.();
    });
    chains.add(running);
  };

  /** Waits for a job, as long as that can be trusted; a fetch that was lost is left to itself, with its worker. */
  const fetchBlocked = async (): Promise<Job<InferenceJob> | undefined> => {
    const fetched = worker.getNextJob(token, { block: true });
    if (!(redis instanceof Cluster)) return fetched;
    let outcome: Job<InferenceJob> | undefined | 'late';
    do {
      outcome = await Promise.race([fetched, sleep(lostFetchMs, 'late' as const, { ref: false })]);
      if (isStopping) return undefined;
      // While the whole cluster is away every command waits, and none of them is lost.
    } while (outcome === 'late' && redis.status !== 'ready');
    if (outcome !== 'late') return outcome;
    // What it brings after all holds a claim and runs, if need be beyond the slots.
    void fetched.then(
      (job) => {
        if (!job) return;
        busy += 1;
        take(job);
      },
      () => undefined,
    );
    worker.close(true).catch(() => undefined);
    worker = createWorker(pool, redis);
    void worker.startStalledCheckTimer();
    throw new SluiceError('unavailable', 'a fetch was lost, the connection for it is opened anew');
  };

  const fetchLoop = async (): Promise<void> => {
    let isDrained = false;
    while (!isStopping) {
      if (busy >= slots || chains.size >= chainLimit) {
        await changed();
        continue;
      }
      busy += 1;
      let job: Job<InferenceJob> | undefined;
      try {
        job = await (isDrained ? fetchBlocked() : worker.getNextJob(token, { block: false }));
      } catch (error) {
        if (!isStopping) onError(error as Error);
        await sleep(errorPauseMs);
      }
      isDrained = !job;
      if (!job) {
        release();
        continue;
      }
      take(job);
    }
  };

  return {
    get busy() {
      return busy;
    },
    start: () => {
      void worker.startStalledCheckTimer();
      loop ??= fetchLoop();
    },
    stop: async () => {
      isStopping = true;
      wake?.();
      // Closing interrupts the blocking fetch; `force` because no job is ever active for longer than a fetch.
      const closed = worker.close(true);
      const finished = loop?.then(() => Promise.all(chains));
      await Promise.race([Promise.all([closed, finished]), sleep(stopLimitMs, undefined, { ref: false })]);
    },
  };
}

function createWorker(pool: string, redis: RedisClient): Worker<InferenceJob> {
  const worker = new Worker<InferenceJob>(queueName(pool), null, {
    connection: redis,
    prefix: queuePrefix(pool),
    autorun: false,
    drainDelay: blockLimitSeconds,
    runRetryDelay: 250,
    // Only a process that dies between the claim and its completion leaves a job active: look after it soon.
    stalledInterval: 5_000,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    skipVersionCheck: true,
  });
  // Every fetch and completion rejects by itself, and the owner of the connection hears of outages.
  worker.on('error', () => undefined);
  return worker;
}

/** A job from what a completing script returned; absent when it brought none. */
function jobOf(worker: Worker<InferenceJob>, reply: unknown): Job<InferenceJob> | undefined {
  if (!Array.isArray(reply) || !reply[0]) return undefined;
  // BullMQ's own worker reads the same two elements; its types leave the reply open.
  const job = Job.fromJSON(worker, reply[0], String(reply[1]));
  return job as Job<InferenceJob>;
}
