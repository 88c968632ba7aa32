import { nothingSpent } from '@sluice/canonical';
import type { Catalog, Pool } from '@sluice/catalog';
import type { Engine } from '@sluice/engines';
import {
  beginAtZero,
  type Clock,
  type Logger,
  type Outcome,
  outcomes,
  type Tracing,
  TransientMap,
  type WorkerMetrics,
} from '@sluice/runtime';
import {
  attemptId,
  type InferenceJob,
  JobConsumer,
  type JobRoom,
  type Order,
  type PoolPresence,
  type RedisClient,
  type ReplyPublisher,
  type ReplyWriter,
} from '@sluice/transport';
import { Generation, type GenerationOutcome, type StopReason } from './generation.ts';

/** A pool, and what its jobs are run with. */
export interface PoolWorkerOptions {
  pool: Pool;
  engine: Engine;
  catalog: Catalog;
  redis: RedisClient;
  /** Memory for the jobs of all pools of the process. */
  room: JobRoom;
  /** Id of the process. */
  worker: string;
  publisher: ReplyPublisher;
  metrics: WorkerMetrics;
  logger: Logger;
  /** Absent if no collector of traces is set. */
  tracing?: Tracing | undefined;
  clock: Clock;
}

/** Outcomes that are the client's fault, and so no concern of the operator. */
const clientsFaults: ReadonlySet<Outcome> = new Set(['invalid-request', 'too-large']);

/** One pool in one worker process: takes jobs and runs them on the pool's engine. */
export class PoolWorker {
  private readonly options: PoolWorkerOptions;
  private readonly consumer: JobConsumer;
  private readonly running = new TransientMap<string, Generation>();
  /**
   * Models of jobs that our settings do not know. The set stays small: ingresses send only models of their own
   * settings.
   */
  private readonly unknownModels = new Set<string>();
  private idle: (() => void) | undefined;
  private hasStarted = false;

  constructor(options: PoolWorkerOptions) {
    const { pool, engine, redis, room, worker, logger, metrics, clock } = options;
    this.options = options;
    this.consumer = new JobConsumer({
      pool: pool.name,
      slots: engine.slots,
      redis,
      room,
      worker,
      run: (job, isAnnounced) => this.run(job, isAnnounced),
      // An engine that fails at once has a free slot at once, and would drain the queue of jobs that others could
      // answer.
      isOpen: () => engine.availability() === 'here',
      now: () => clock.now(),
      onError: (error) => logger.warn({ err: error, pool: pool.name }, 'could not take a job'),
    });
    beginAtZero(metrics.generations, { pool: [pool.name], outcome: outcomes });
    metrics.slots.set({ pool: pool.name }, engine.slots);
    metrics.slotsBusy.readFrom({ pool: pool.name }, () => this.consumer.busy);
    metrics.engineUp.readFrom({ pool: pool.name }, () => (engine.isReady() ? 1 : 0));
  }

  get name(): string {
    return this.options.pool.name;
  }

  get isReady(): boolean {
    return this.options.engine.isReady();
  }

  get presence(): PoolPresence {
    const { engine } = this.options;
    // Those that it can't serve are left to others: jobs would wait for it until their deadline.
    const isIdle = !this.hasStarted || engine.availability() === 'away' || this.consumer.isDeaf();
    const slots = isIdle ? 0 : engine.slots;
    return { slots, resume: engine.resume, ...(this.consumer.isReading && { isReading: true }) };
  }

  /** Starts the engine and then takes jobs. Rejects if the engine does not start; then it may be called again. */
  async start(signal: AbortSignal): Promise<void> {
    await this.options.engine.start(signal);
    this.hasStarted = true;
    this.consumer.start();
  }

  /** Carries out an order. Returns whether this pool runs the attempt that it is about. */
  receive(order: Order): boolean {
    const generation = this.running.get(attemptId(order));
    if (generation && order.kind === 'cancel') generation.stop('cancelled');
    return generation !== undefined;
  }

  /** Resolves once the jobs of the claim that is under way run here, or are lost. */
  claimed(): Promise<void> {
    return this.consumer.claimed();
  }

  /** Stops taking jobs. Resolves when nothing runs any more, or when `limit` aborts. */
  async drain(limit: AbortSignal): Promise<void> {
    await this.consumer.stop();
    if (this.running.size === 0 || limit.aborted) return;
    await new Promise<void>((resolve) => {
      this.idle = resolve;
      limit.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Stops the generations that still run, waits for the engine to return from them, and stops the engine. */
  async stop(reason: StopReason): Promise<void> {
    for (const generation of this.running.values()) generation.stop(reason);
    await Promise.all([...this.running.values()].map((generation) => generation.ended));
    await this.options.engine.stop();
  }

  private async run(job: InferenceJob, isAnnounced: boolean): Promise<void> {
    const { catalog, engine, publisher, metrics, clock, pool, tracing } = this.options;
    const model = catalog.models.get(job.model);
    // All that an ingress had waiting when it died is still claimed. Each would run until it is given up as the first
    // were, for seconds, while the requests of others wait.
    const gone = publisher.isGone(job.replyTo);
    if (gone && (await gone)) return;
    const writer = publisher.open(job, isAnnounced);
    // The queue has given the attempt out twice (a failover lost the claim), and it already runs here.
    if (!writer) return;
    if (!model) {
      this.refuseModel(job.model, writer);
      return;
    }
    const { backendModel } = model;
    const services = { engine, writer, pool: pool.name, backendModel, limits: model, clock, tracing };
    const generation = new Generation(job, services);
    const key = attemptId(job);
    this.running.set(key, generation);
    const startedAt = clock.monotonic();
    const outcome = await generation.run();
    this.running.delete(key);
    if (outcome.kind === 'cancelled') publisher.forget(job);
    this.logFailure(job, outcome);
    metrics.generations.inc({ pool: pool.name, outcome: outcome.kind });
    metrics.generationDuration.observe({ pool: pool.name }, clock.monotonic() - startedAt);
    if (outcome.firstContentMs !== undefined) {
      metrics.engineTimeToFirstToken.observe({ pool: pool.name }, outcome.firstContentMs);
    }
    if (this.running.size === 0) this.idle?.();
  }

  /** Logs the failure of an engine. A generation that was stopped from outside is logged by its ingress. */
  private logFailure(
    { requestId, attempt, tenant }: InferenceJob,
    { kind, failure, cause }: GenerationOutcome,
  ): void {
    if (!failure && cause === undefined) return;
    const { logger, pool } = this.options;
    const facts = { requestId, attempt, tenant, pool: pool.name, outcome: kind, ...failure };
    if (cause !== undefined) logger.error({ err: cause, ...facts }, 'generation failed');
    else if (clientsFaults.has(kind)) logger.info(facts, 'generation failed');
    else logger.warn(facts, 'generation failed');
  }

  /**
   * Refuses a job whose model only newer settings than ours may know. Its id must not be sent to the backend instead,
   * which may know no such model, or another one of that name.
   */
  private refuseModel(model: string, writer: ReplyWriter): void {
    const { logger, metrics, pool } = this.options;
    const message = `the worker does not know model ${model}`;
    writer.write({ type: 'error', error: { kind: 'unavailable', message }, usage: nothingSpent });
    metrics.generations.inc({ pool: pool.name, outcome: 'unavailable' });
    if (this.unknownModels.has(model)) return;
    this.unknownModels.add(model);
    logger.warn({ model, pool: pool.name }, 'a model that the settings of this worker do not know');
  }
}
