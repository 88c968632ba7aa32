import { type Logger, TimingWheel, TransientMap, TransientSet, withoutRedis } from '@sluice/runtime';
import type { Attempt, LostReason, ReplyBatch, WorkerDirectory } from '@sluice/transport';
import {
  type Dispatched,
  type GenerationPlan,
  type GenerationServices,
  OpenGeneration,
} from './generation.ts';

/** A job that nobody has claimed is looked for in the queue only after this long. */
const lookAfterMs = 2_000;
/** How long a request may wait while its pool has no living worker. */
const noWorkerLimitMs = 10_000;
/** Jobs that one question to Redis asks for. */
const jobsPerLook = 500;
/**
 * How long replies must be unable to reach us before new requests are refused. A cut subscription is back long before.
 */
const deafLimitMs = 2_000;
/** How late a claimed generation may be looked at, and how far ahead that is planned. */
const wheelStepMs = 250;
const wheelReachMs = 15_000;

/** What the dispatcher of an ingress works with. */
export interface DispatcherOptions
  extends Omit<GenerationServices, 'deathsOf' | 'resumeAbility' | 'onQueued' | 'onClosed'> {
  directory: WorkerDirectory;
  logger: Pick<Logger, 'debug' | 'warn'>;
  /** Whether everything that workers say can reach us now: replies, and their presence. */
  isListening(): boolean;
  /** Whether replies can. In a Cluster, they may have another master than the presence of workers. */
  hearsReplies(): boolean;
  /** Whether replies will reach us, be it late, behind large ones that are on their way. */
  repliesReach(): boolean;
}

/**
 * Sends generations through the queue and routes the replies back to them: it knows which wait, which worker runs each
 * of the others, and which workers were lost. All time-outs are checked by two periodic calls, so that an open stream
 * needs no timer; they look at those that wait, and of the others at those that are due.
 */
export class Dispatcher {
  private readonly generations = new TransientMap<string, OpenGeneration>();
  /** Those that were queued at the last look. */
  private readonly waiting = new TransientSet<OpenGeneration>();
  /** Those that a worker has claimed. */
  private readonly running: TimingWheel<OpenGeneration>;
  private readonly options: DispatcherOptions;
  private readonly services: GenerationServices;
  private readonly poolEmptySince = new Map<string, number>();
  private isLooking = false;
  /** Since when no reply can reach us; absent while they can. */
  private deafSince: number | undefined;

  constructor(options: DispatcherOptions) {
    this.options = options;
    this.running = new TimingWheel(wheelStepMs, wheelReachMs, options.now());
    this.services = {
      ...options,
      deathsOf: (pool) => options.directory.deathsOf(pool),
      resumeAbility: (pool) => options.directory.resumeOf(pool),
      onQueued: (generation) => {
        // It may have been cancelled before it began.
        if (this.generations.get(generation.plan.requestId) !== generation) return;
        this.running.delete(generation);
        this.waiting.add(generation);
      },
      onClosed: (generation) => {
        this.generations.delete(generation.plan.requestId);
        if (!this.running.delete(generation)) this.waiting.delete(generation);
      },
    };
  }

  get count(): number {
    return this.generations.size;
  }

  /**
   * Throws `unavailable` if no reply has been able to reach us for a while: a new request would wait for its deadline.
   */
  checkHearing(): void {
    const { now, repliesReach } = this.options;
    if (this.deafSince === undefined || now() - this.deafSince < deafLimitMs || repliesReach()) return;
    throw withoutRedis('no answer reaches the gateway at the moment');
  }

  /** Creates a generation; its `begin` sends it. */
  open(plan: GenerationPlan): Dispatched {
    const generation = new OpenGeneration(plan, this.services);
    this.generations.set(plan.requestId, generation);
    return generation;
  }

  /** Takes one message from a worker. */
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
    // The message arrived after the news that the worker has exited, so the attempts that it claims are lost already.
    if (directory.hasExited(worker)) this.workerLost(worker, 'exited');
  }

  /** A worker is lost: each generation that it held goes on elsewhere or ends. */
  workerLost(worker: string, reason: LostReason): void {
    for (const generation of [...this.generations.values()]) generation.machine.workerLost(worker, reason);
  }

  /** A worker that was lost because it was silent is heard again. */
  heardAgain(worker: string): void {
    for (const generation of this.generations.values()) generation.machine.heardAgain(worker);
  }

  /** Our subscription is back after a cut, during which replies may have been lost. */
  resubscribed(): void {
    for (const generation of [...this.generations.values()]) generation.machine.askForMissed();
  }

  /**
   * Enforces deadlines, sends again what Redis did not take, and asks for what was not heard. Call it four times a
   * second.
   */
  tick(): void {
    const { directory, now, isListening, hearsReplies, repliesReach } = this.options;
    directory.check(isListening());
    const at = now();
    const isHearing = hearsReplies();
    this.deafSince = repliesReach() ? undefined : (this.deafSince ?? at);
    for (const pool of this.poolEmptySince.keys()) {
      if (directory.slotsOf(pool) > 0 || !isListening()) this.poolEmptySince.delete(pool);
    }
    for (const generation of this.waiting) {
      if (generation.machine.phase !== 'queued') {
        this.waiting.delete(generation);
        this.running.put(generation);
      } else if (!failIfLate(generation, at)) {
        generation.retryUnsent();
        this.failWithoutWorkers(generation, at);
      }
    }
    this.running.turn(at, (generation) => {
      if (!failIfLate(generation, at) && isHearing) generation.askIfUnheard(at);
    });
  }

  /** Finds attempts that are neither waiting nor claimed, and starts a new attempt for each. Call it once a second. */
  async lookForLost(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      const before = this.options.now() - lookAfterMs;
      const byPool = new Map<string, OpenGeneration[]>();
      for (const generation of this.waiting) {
        const { enqueuedAt, machine, plan } = generation;
        if (machine.phase !== 'queued' || enqueuedAt === undefined || enqueuedAt > before) continue;
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

  /** Ends all open generations with an error, when the drain limit is reached. */
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
    // A job that is still on its way to a worker looks lost where Redis does not tell of its claim.
    const isReading = directory.isReading(pool);
    for (const [index, generation] of generations.entries()) {
      const isStillQueued =
        generation.machine.phase === 'queued' && generation.machine.attempt === attempts[index]?.attempt;
      if (!isStillQueued) continue;
      if (areWaiting[index] || isReading || !isListening()) generation.missing.reset();
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
    // A pool counts as empty once its last worker closes. A generation that this worker hands over later has not waited
    // yet.
    if (at - Math.max(since, generation.enqueuedAt ?? at) < noWorkerLimitMs) return;
    generation.fail({ kind: 'unavailable', message: 'no worker serves this model now', retryAfterMs: 5_000 });
  }

  /** The generation that a worker reports on. If nobody waits for it any more, the worker is told to stop. */
  private of(worker: string, { requestId, attempt }: Attempt): OpenGeneration | undefined {
    const generation = this.generations.get(requestId);
    if (!generation) this.options.orders.send(worker, { kind: 'cancel', requestId, attempt, sequence: 0 });
    return generation;
  }
}

/** Fails a generation whose deadline has passed. Returns whether it did. */
function failIfLate(generation: OpenGeneration, at: number): boolean {
  if (at < generation.plan.job.deadlineAt) return false;
  generation.fail({ kind: 'deadline-exceeded', message: 'the deadline of the request has passed' });
  return true;
}
