import type { GenerationEvent } from '@sluice/canonical';
import {
  attemptId,
  createReplyPublisher,
  type InferenceJob,
  type Order,
  presenceIntervalMs,
  publishWorkerNews,
  type ReplyPublisher,
  type ReplyWriter,
  subscribeIngressNews,
  subscribeOrders,
} from '@sluice/transport';
import { between, type Random } from './random.ts';
import type { Schedule, SimulatedRequest } from './schedule.ts';
import type { Peer, SimulatedRedis } from './simulated-redis.ts';
import type { World } from './world.ts';

/** One run of the engine. Its number is in every token, so that each token shows where it came from. */
export interface Run {
  number: number;
  worker: string;
  requestId: string;
  attempt: number;
  /** When the engine wrote its terminal event. */
  endedAt?: number;
}

/** What simulated workers share with the play that they are in. */
export interface WorkerServices {
  world: World;
  random: Random;
  redis: SimulatedRedis;
  schedule: Schedule;
  /** All runs of all workers. */
  runs: Run[];
  requestOf(requestId: string): SimulatedRequest;
  trace(text: string): void;
  /** Called when the process has ended. */
  onDead(worker: SimulatedWorker, isAnnounced: boolean): void;
}

interface Generation {
  run: Run;
  job: InferenceJob;
  writer: ReplyWriter;
  position: number;
  isOver: boolean;
}

/** From then on a worker says that a job may be on its way to it. */
const readingAfterMs = 100;

/** The text of one token: its position in the answer, and the run that has produced it. */
const tokenText = (position: number, run: number): string => `${position}:${run} `;

/**
 * A worker process: the real publisher around an engine whose answer is a function of the position. It can die, stand
 * still (and later go on as if nothing had happened) and drain.
 */
export class SimulatedWorker implements Peer {
  readonly id: string;
  readonly line: { isCut: boolean };
  private readonly services: WorkerServices;
  private readonly bus;
  private readonly publisher: ReplyPublisher;
  private readonly running = new Map<string, Generation>();
  private readonly backlog: (() => void)[] = [];
  private isDead = false;
  private isStopped = false;
  private state: 'ready' | 'closing' | 'draining' = 'ready';
  /** When Redis gave out each of the jobs that have not arrived yet. */
  private readonly arriving: number[] = [];
  /** Orders about attempts that may be among them. */
  private readonly heldOrders: (() => void)[] = [];

  constructor(id: string, services: WorkerServices) {
    this.id = id;
    this.services = services;
    const { world, redis } = services;
    const { bus, line } = redis.connect(this);
    this.bus = bus;
    this.line = line;
    this.publisher = createReplyPublisher({
      bus,
      worker: id,
      now: () => world.now,
      isIngressAlive: async () => redis.knowsIngress,
      afterTurn: (callback) => this.after(0, callback),
      every: (intervalMs, callback) => this.every(intervalMs, callback),
    });
    this.publisher.start();
    void subscribeOrders(bus, id, (order, ingress) => this.receive(order, ingress));
    void subscribeIngressNews(bus, ({ ingress }) => {
      this.announce();
      this.publisher.tell(ingress);
    });
    bus.onResubscribed(() => {
      this.announce();
      this.publisher.tell();
    });
    this.every(presenceIntervalMs, () => this.announce());
    this.announce();
    this.wake();
  }

  /** Whether no slot is held and no frames are kept. */
  get isIdle(): boolean {
    return this.isDead || (this.running.size === 0 && this.publisher.keptCharacters === 0);
  }

  get isAlive(): boolean {
    return !this.isDead;
  }

  run(callback: () => void): void {
    if (this.isDead) return;
    if (this.isStopped) this.backlog.push(callback);
    else callback();
  }

  /** Makes the worker look for jobs soon. */
  wake(): void {
    this.after(between(this.services.random, 0, 4), () => this.fetch());
  }

  crash(isAnnounced: boolean): void {
    if (this.isDead) return;
    this.services.trace(`${this.id} dies${isAnnounced ? '' : ' unannounced'}`);
    this.isDead = true;
    this.line.isCut = true;
    this.services.onDead(this, isAnnounced);
  }

  stall(forMs: number): void {
    this.isStopped = true;
    this.services.trace(`${this.id} stands still for ${forMs} ms`);
    this.services.world.after(forMs, () => {
      if (!this.isStopped) return;
      this.services.trace(`${this.id} goes on`);
      this.isStopped = false;
      for (const callback of this.backlog.splice(0)) this.run(callback);
    });
  }

  drain(graceMs: number): void {
    this.run(() => {
      this.services.trace(`${this.id} drains`);
      this.state = 'closing';
      this.announce();
      this.after(graceMs, () => {
        this.state = 'draining';
        this.announce();
        this.after(250, () => this.handOver());
      });
    });
  }

  private handOver(): void {
    const error = { kind: 'unavailable', message: 'the worker is shutting down', detail: 'drained' } as const;
    for (const generation of this.running.values()) this.finish(generation, { type: 'error', error });
    this.after(5, () => this.crash(true));
  }

  private after(delayMs: number, callback: () => void): void {
    this.services.world.after(delayMs, () => this.run(callback));
  }

  /** Like a real process's timer, it does not catch up on the calls that it missed while the process stood still. */
  private every(intervalMs: number, callback: () => void): () => void {
    let isDue = false;
    return this.services.world.every(intervalMs, () => {
      if (isDue) return;
      isDue = true;
      this.run(() => {
        isDue = false;
        callback();
      });
    });
  }

  private announce(): void {
    const { schedule, world } = this.services;
    const { slots, resume } = schedule;
    const isReading = this.arriving.some((since) => world.now - since > readingAfterMs);
    const pools = this.state === 'ready' ? { pool: { slots, resume, isReading } } : {};
    const state = this.state === 'draining' ? 'draining' : 'ready';
    publishWorkerNews(this.bus, { type: 'presence', worker: this.id, state, pools }).catch(() => undefined);
  }

  private fetch(): void {
    const { random, redis, schedule } = this.services;
    const hasRoom = () => this.running.size + this.arriving.length < schedule.slots;
    while (this.state === 'ready' && !this.isDead && hasRoom()) {
      const taken = redis.take(this.id);
      if (!taken) return;
      this.arriving.push(this.services.world.now);
      this.after(between(random, 0, schedule.replyMs), () => {
        this.arriving.shift();
        // If the connection has broken, the job is lost with it.
        if (!redis.isDown) this.start(taken.job, taken.isAnnounced);
        if (this.arriving.length === 0) for (const obey of this.heldOrders.splice(0)) obey();
      });
    }
  }

  private start(job: InferenceJob, isAnnounced: boolean): void {
    const { services, id } = this;
    const writer = this.publisher.open(job, isAnnounced);
    if (!writer) {
      this.wake();
      return;
    }
    const { requestId, attempt, resume } = job;
    const [part] = resume?.content ?? [];
    const delivered = part?.type === 'text' ? part.text.trimEnd().split(' ').length : 0;
    if (delivered !== (resume?.outputTokens ?? 0))
      throw new Error(`${requestId}: resumed with a wrong count`);
    const run: Run = {
      number: services.runs.length,
      worker: id,
      requestId,
      attempt,
    };
    services.runs.push(run);
    services.trace(
      `${id} runs ${requestId} attempt ${attempt} as run ${run.number} from ${resume?.outputTokens ?? 0}`,
    );
    const generation: Generation = { run, job, writer, position: resume?.outputTokens ?? 0, isOver: false };
    this.running.set(attemptId(job), generation);
    // As in a real worker, the engine is called only once the claim has been sent.
    if (isAnnounced) this.begin(generation);
    else this.after(0, () => this.begin(generation));
  }

  private begin(generation: Generation): void {
    if (generation.isOver) return;
    const { requestId } = generation.job;
    const { requestOf, world } = this.services;
    if (requestOf(requestId).oddity === 'kills-at-once') {
      this.crash(true);
      return;
    }
    generation.writer.write({ type: 'start', id: requestId, model: 'simulated', createdAt: world.now });
    this.step(generation);
  }

  private step(generation: Generation): void {
    const { random, schedule } = this.services;
    this.after(between(random, 0, schedule.tokenMs), () => {
      if (generation.isOver) return;
      const request = this.services.requestOf(generation.job.requestId);
      if (request.oddity === 'kills-its-worker' && generation.position > 0) this.crash(true);
      else if (request.oddity === 'refuses-at-first' && generation.job.attempt === 1) {
        this.finish(generation, { type: 'error', error: { kind: 'unavailable', message: 'busy' } });
      } else this.generate(generation, request.tokens);
    });
  }

  private generate(generation: Generation, tokens: number): void {
    const { writer, run } = generation;
    const burst = between(this.services.random, 1, 2);
    for (let count = 0; count < burst && generation.position < tokens; count += 1) {
      writer.write({
        type: 'text-delta',
        block: 0,
        text: tokenText(generation.position, run.number),
        tokens: 1,
      });
      generation.position += 1;
    }
    if (generation.position < tokens) this.step(generation);
    else this.finish(generation, { type: 'finish', reason: 'stop', usage: { outputTokens: tokens } });
  }

  private finish(generation: Generation, event: GenerationEvent | undefined): void {
    if (generation.isOver) return;
    generation.isOver = true;
    if (event) generation.writer.write(event);
    generation.run.endedAt = this.services.world.now;
    this.running.delete(attemptId(generation.job));
    if (!event) this.publisher.forget(generation.job);
    this.wake();
  }

  private receive(order: Order, ingress: string): void {
    if (this.arriving.length > 0 && order.kind !== 'acknowledge' && !this.publisher.has(order)) {
      this.heldOrders.push(() => this.receive(order, ingress));
      return;
    }
    const generation = this.running.get(attemptId(order));
    if (order.kind === 'resend') this.publisher.resend(order, order.sequence, ingress);
    else if (order.kind === 'acknowledge') this.publisher.acknowledge(order, order.sequence);
    else if (generation) this.finish(generation, undefined);
    else this.publisher.forget(order);
  }
}
