import { SluiceError } from '@sluice/canonical';
import type { Logger } from '@sluice/runtime';
import type { Attempt, LostReason, ReplyBatch, WorkerDirectory } from '@sluice/transport';
import {
  type Dispatched,
  type GenerationPlan,
  type GenerationServices,
  OpenGeneration,
} from './generation.ts';

/** A generation with a job in nobody's hands is looked for only after this long. */
const lookAfterMs = 2_000;
/** How long a request may wait while no worker of its pool lives. */
const noWorkerLimitMs = 10_000;
/** Jobs that Redis is asked for at once. */
const jobsPerLook = 500;
/** A running generation that its worker did not speak of for this long is asked for: two full heartbeats. */
const unheardLimitMs = 11_000;
/** How long nobody can be heard before new requests are refused: a subscription that was cut stands again long before. */
const deafLimitMs = 2_000;

export interface DispatcherOptions
  extends Omit<GenerationServices, 'deathsOf' | 'resumeAbility' | 'onClosed'> {
  directory: WorkerDirectory;
  logger: Pick<Logger, 'debug' | 'warn'>;
  /** Whether replies can reach us now. */
  isListening(): boolean;
}

/**
 * Sends generations through the queue and leads the replies back: who waits, who runs where, who was lost.
 * All of its time-outs hang on two ticks, so that an open stream costs no timer.
 */
export class Dispatcher {
  private readonly generations = new Map<string, OpenGeneration>();
  private readonly options: DispatcherOptions;
  private readonly services: GenerationServices;
  private readonly poolEmptySince = new Map<string, number>();
  private isLooking = false;
  /** Since when no reply can reach us; absent while they can. */
  private deafSince: number | undefined;

  constructor(options: DispatcherOptions) {
    this.options = options;
    this.services = {
      ...options,
      deathsOf: (pool) => options.directory.deathsOf(pool),
      resumeAbility: (pool) => options.directory.resumeOf(pool),
      onClosed: (requestId) => this.generations.delete(requestId),
    };
  }

  get count(): number {
    return this.generations.size;
  }

  /** Throws `unavailable` where no reply has been able to reach us for a while: who waited would wait for its deadline. */
  checkHearing(): void {
    const { now, isListening } = this.options;
    if (this.deafSince === undefined || now() - this.deafSince < deafLimitMs || isListening()) return;
    throw new SluiceError('unavailable', 'no answer reaches the gateway at the moment', {
      retryAfterMs: 1_000,
    });
  }

  /** Opens a generation, which waits for its `begin`. */
  open(plan: GenerationPlan): Dispatched {
    const generation = new OpenGeneration(plan, this.services);
    this.generations.set(plan.requestId, generation);
    return generation;
  }

  /** Takes one message of a worker. */
  receive(batch: ReplyBatch): void {
    const { worker } = batch;
    const { directory, now, metrics } = this.options;
    const at = now();
    directory.heard(worker);
    for (const claim of batch.claims) this.of(worker, claim)?.claimed(worker, claim.attempt, at);
    for (const frame of batch.frames) {
      const { attempt, sequence, events } = frame;
      const generation = this.of(worker, frame);
      if (!generation) {
        metrics.framesDropped.inc({ reason: 'unknown' });
        continue;
      }
      generation.heard(worker, attempt, at);
      generation.machine.frame(worker, attempt, sequence, events);
    }
    for (const running of batch.running) {
      const generation = this.of(worker, running);
      generation?.heard(worker, running.attempt, at);
      generation?.machine.running(worker, running.attempt, running.next);
    }
    for (const gone of batch.gone) this.of(worker, gone)?.machine.gone(worker, gone.attempt, gone.from);
    // Its last words came after the news of its death: what they claimed is lost already.
    if (directory.hasExited(worker)) this.workerLost(worker, 'exited');
  }

  /** A worker is gone: every generation that it held goes on elsewhere or ends. */
  workerLost(worker: string, reason: LostReason): void {
    for (const generation of [...this.generations.values()]) generation.machine.workerLost(worker, reason);
  }

  /** Our subscription was away. */
  resubscribed(): void {
    for (const generation of [...this.generations.values()]) generation.machine.askForMissed();
  }

  /** Holds deadlines and looks after the unclaimed. Call it four times a second. */
  tick(): void {
    const { directory, now, isListening } = this.options;
    directory.check(isListening());
    const at = now();
    this.deafSince = isListening() ? undefined : (this.deafSince ?? at);
    for (const pool of this.poolEmptySince.keys()) {
      if (directory.slotsOf(pool) > 0 || !isListening()) this.poolEmptySince.delete(pool);
    }
    for (const generation of [...this.generations.values()]) {
      if (at >= generation.plan.job.deadlineAt) {
        generation.fail({ kind: 'deadline-exceeded', message: 'the deadline of the request has passed' });
      } else if (generation.machine.phase === 'queued') {
        generation.retryUnsent();
        this.failWithoutWorkers(generation, at);
      } else if (at - generation.heardAt > unheardLimitMs && isListening()) {
        generation.heardAt = at;
        generation.machine.askForMissed();
      }
    }
  }

  /** Finds attempts that are neither waiting nor claimed, and sends them again. Call it once a second. */
  async lookForLost(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      const before = this.options.now() - lookAfterMs;
      const byPool = new Map<string, OpenGeneration[]>();
      for (const generation of this.generations.values()) {
        const { enqueuedAt, isUnsent, machine, plan } = generation;
        if (machine.phase !== 'queued' || isUnsent || enqueuedAt === undefined || enqueuedAt > before)
          continue;
        const list = byPool.get(plan.pool);
        if (list) list.push(generation);
        else byPool.set(plan.pool, [generation]);
      }
      for (const [pool, generations] of byPool) {
        for (let from = 0; from < generations.length; from += jobsPerLook)
          await this.look(pool, generations.slice(from, from + jobsPerLook));
      }
    } catch (error) {
      this.options.logger.debug({ err: error }, 'could not look for lost jobs');
    } finally {
      this.isLooking = false;
    }
  }

  /** Ends everything that is open, as the drain limit demands. */
  failAll(): void {
    for (const generation of [...this.generations.values()]) {
      generation.fail({ kind: 'unavailable', message: 'the gateway is shutting down', detail: 'drained' });
    }
  }

  private async look(pool: string, generations: readonly OpenGeneration[]): Promise<void> {
    const { directory, logger, now, queue, isListening } = this.options;
    const attempts = generations.map(({ plan, machine }) => ({
      requestId: plan.requestId,
      attempt: machine.attempt,
    }));
    const areWaiting = await queue.areWaiting(pool, attempts);
    const beats = directory.beatsOf(pool);
    for (const [index, generation] of generations.entries()) {
      const isStillQueued =
        generation.machine.phase === 'queued' && generation.machine.attempt === attempts[index]?.attempt;
      if (!isStillQueued) continue;
      if (areWaiting[index] || !isListening()) generation.missing.reset();
      else if (generation.missing.miss(now(), beats)) {
        logger.warn({ requestId: generation.plan.requestId }, 'job lost');
        generation.jobLost();
      }
    }
  }

  private failWithoutWorkers(generation: OpenGeneration, at: number): void {
    const { pool } = generation.plan;
    if (this.options.directory.slotsOf(pool) > 0 || !this.options.isListening()) return;
    const since = this.poolEmptySince.get(pool) ?? at;
    this.poolEmptySince.set(pool, since);
    // What a worker that leaves hands over has waited for nobody yet, however long ago it closed.
    if (at - Math.max(since, generation.enqueuedAt ?? at) < noWorkerLimitMs) return;
    generation.fail({ kind: 'unavailable', message: 'no worker serves this model now', retryAfterMs: 5_000 });
  }

  /** The generation that a worker speaks of. A worker that runs what nobody waits for is told to stop. */
  private of(worker: string, { requestId, attempt }: Attempt): OpenGeneration | undefined {
    const generation = this.generations.get(requestId);
    if (!generation) this.options.orders.send(worker, { kind: 'cancel', requestId, attempt, sequence: 0 });
    return generation;
  }
}
