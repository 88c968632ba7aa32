import {
  createOrderSender,
  publishIngressNews,
  publishWorkerNews,
  subscribeReplies,
  subscribeWorkerNews,
  WorkerDirectory,
} from '@sluice/transport';
import { AttemptMachine } from '../dispatch/attempt-machine.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { type CreateMachine, HastyDirectory } from './defects.ts';
import { findBrokenPromise } from './judge.ts';
import { between, createRandom } from './random.ts';
import { calmAt, type Fault, type Schedule } from './schedule.ts';
import { SimulatedClient } from './simulated-client.ts';
import { SimulatedRedis } from './simulated-redis.ts';
import { type Run, SimulatedWorker, type WorkerServices } from './simulated-worker.ts';
import { World } from './world.ts';

/** By this long after the last fault, everything must have come to an end, if no job was long on its way. */
const patienceMs = 20_000;
/** As many jobs as may be on their way one after the other, with the second attempts of some. */
const jobsInARow = 10;
const ingress = 'ingress';
const pool = 'pool';
const silenceLimitMs = 2_000;

/** Defects to play with, and a listener. */
export interface PlayOptions {
  /** Default: the real machine. */
  createMachine?: CreateMachine;
  /** The defect of an ingress that does not ask for missed frames after a reconnect. Default: false. */
  isIncurious?: boolean;
  /** The defect of an ingress that takes a late claim for a lost job. Default: false. */
  isHasty?: boolean;
  /** Called with one line for each thing that happens. Absent: no lines are made. */
  trace?(line: string): void;
}

/** How a schedule went. */
export interface Outcome {
  /** The promise that was broken; absent when all were kept. */
  failure?: string;
  clients: readonly SimulatedClient[];
  runs: readonly Run[];
  /** Frames of attempts that no longer counted; none of them reached a client. */
  fencedFrames: number;
  lostWorkers: number;
}

/** Plays one schedule against the real dispatcher, attempt machines, publishers and message texts. */
export async function play(schedule: Schedule, options: PlayOptions = {}): Promise<Outcome> {
  const play = new Play(schedule, options);
  try {
    await play.run();
    return play.outcome(findBrokenPromise(play));
  } catch (error) {
    return play.outcome(error instanceof Error ? error.message : String(error));
  }
}

class Play {
  readonly schedule: Schedule;
  private readonly options: PlayOptions;
  private readonly world = new World();
  private readonly random;
  private readonly redis: SimulatedRedis;
  private readonly ingressLine: { isCut: boolean };
  readonly dispatcher: Dispatcher;
  private readonly directory: WorkerDirectory;
  private readonly bus;
  readonly runs: Run[] = [];
  readonly clients: SimulatedClient[];
  readonly workers: SimulatedWorker[] = [];
  /** The current worker of each seat, in which a dead one is replaced. */
  private readonly seats: SimulatedWorker[] = [];
  private fencedFrames = 0;
  lostWorkers = 0;
  /** The machine that the dispatcher made last. */
  private newest: AttemptMachine | undefined;
  /** The first error that was thrown where no caller could catch it. */
  private broken: unknown;

  constructor(schedule: Schedule, options: PlayOptions) {
    this.schedule = schedule;
    this.options = options;
    const { world } = this;
    this.random = createRandom(schedule.seed ^ 0x2545f491);
    this.redis = new SimulatedRedis(world, this.random, schedule.bus);
    const { bus, line } = this.redis.connect({ run: (callback) => callback() });
    this.bus = bus;
    this.ingressLine = line;
    this.clients = schedule.requests.map(
      (request, index) => new SimulatedClient(`r${index}`, request, this.runs, () => world.now),
    );
    this.directory = new (options.isHasty ? HastyDirectory : WorkerDirectory)({
      now: () => world.now,
      silenceLimitMs,
      onLost: (worker, reason) => {
        this.trace(`the ingress has lost ${worker}: ${reason}`);
        if (reason !== 'draining') this.lostWorkers += 1;
        this.dispatcher.workerLost(worker, reason);
      },
      onHeardAgain: (worker) => {
        this.trace(`the ingress hears ${worker} again`);
        this.dispatcher.heardAgain(worker);
      },
    });
    this.dispatcher = this.createDispatcher();
  }

  async run(): Promise<void> {
    const { world, schedule, dispatcher, bus } = this;
    void subscribeReplies(bus, ingress, (batch) => {
      if (this.options.trace) this.trace(`batch ${JSON.stringify(batch)}`);
      dispatcher.receive(batch);
    });
    void subscribeWorkerNews(bus, (news) => this.directory.receive(news));
    bus.onResubscribed(() => {
      if (this.options.isIncurious) return;
      this.trace('the ingress is subscribed again');
      dispatcher.resubscribed();
      publishIngressNews(bus, { type: 'hello', ingress }).catch(() => undefined);
    });
    for (let seat = 0; seat < schedule.workers; seat += 1) this.startWorker(seat);
    this.redis.onWaiting = () => {
      for (const worker of this.seats) worker.wake();
    };
    world.every(250, () => dispatcher.tick());
    world.every(1_000, () => void dispatcher.lookForLost());
    for (const client of this.clients) this.enter(client);
    for (const fault of schedule.faults) world.after(fault.at, () => this.strike(fault));
    await world.run(
      calmAt + patienceMs + jobsInARow * this.schedule.replyMs,
      () => this.broken !== undefined || this.isOver(),
    );
    if (this.broken !== undefined) throw this.broken;
  }

  get lostAnswers(): number {
    return this.redis.lostAnswers;
  }

  outcome(failure: string | undefined): Outcome {
    const { clients, runs, fencedFrames, lostWorkers } = this;
    return { clients, runs, fencedFrames, lostWorkers, ...(failure !== undefined && { failure }) };
  }

  private createDispatcher(): Dispatcher {
    const { options, world } = this;
    return new Dispatcher({
      queue: this.redis.queue,
      orders: createOrderSender(this.bus, ingress, {
        afterTurn: (callback) => world.after(0, callback),
        after: (delayMs, callback) => world.after(delayMs, callback),
        now: () => world.now,
      }),
      directory: this.directory,
      now: () => world.now,
      isListening: () => this.bus.isUp(),
      hearsReplies: () => this.bus.isUp(),
      repliesReach: () => this.bus.isUp(),
      metrics: {
        attempts: { inc: () => undefined },
        resends: { inc: () => undefined },
        framesDropped: {
          inc: ({ reason }) => {
            if (reason === 'old-attempt') this.fencedFrames += 1;
          },
        },
      },
      logger: { debug: () => undefined, warn: () => undefined },
      createMachine: (effects, facts) => {
        this.newest = options.createMachine?.(effects, facts) ?? new AttemptMachine(effects, facts);
        return this.newest;
      },
    });
  }

  private enter(client: SimulatedClient): void {
    const { world } = this;
    const { at, leavesAt, pauses } = client.request;
    world.after(at, () => {
      const dispatched = this.dispatcher.open({
        requestId: client.id,
        pool,
        isPlainText: true,
        readerFormat: undefined,
        hasShown: () => client.hasShown,
        enter: (job) => this.redis.queue.enqueue(pool, job, 5),
        job: client.jobFor(ingress),
        onEvents: (events) => this.deliver(client, events),
        onClaimed: () => undefined,
        onAnotherAttempt: () => undefined,
        onWorkerDone: () => undefined,
      });
      client.handle = dispatched;
      dispatched.begin().catch(() => client.refuse());
      client.machine = this.newest;
    });
    if (leavesAt !== undefined) {
      world.after(leavesAt, () => {
        this.trace(`the client of ${client.id} leaves`);
        client.leave();
      });
    }
    if (!pauses) return;
    world.after(pauses.at, () => client.handle?.pause());
    world.after(pauses.at + pauses.forMs, () => client.handle?.resume());
  }

  private deliver(client: SimulatedClient, events: Parameters<SimulatedClient['receive']>[0]): void {
    if (this.options.trace) this.trace(`${client.id} gets ${JSON.stringify(events)}`);
    try {
      client.receive(events);
    } catch (error) {
      this.broken ??= error;
    }
  }

  private strike(fault: Fault): void {
    this.trace(`fault ${JSON.stringify(fault)}`);
    switch (fault.kind) {
      case 'crash':
        this.seats[fault.worker]?.crash(fault.isAnnounced);
        return;
      case 'stall':
        this.seats[fault.worker]?.stall(fault.forMs);
        return;
      case 'drain':
        this.seats[fault.worker]?.drain(fault.graceMs);
        return;
      case 'worker-cut': {
        const worker = this.seats[fault.worker];
        if (worker?.isAlive) this.redis.cut(worker.line, fault.forMs);
        return;
      }
      case 'ingress-cut':
        this.redis.cut(this.ingressLine, fault.forMs);
        return;
      case 'redis-restart':
        this.redis.restart(fault.forMs);
        return;
      case 'job-lost':
        this.redis.loseJob();
        return;
      case 'job-given-out-twice':
        this.redis.giveOutAgain(fault.againAfterMs);
        return;
    }
  }

  private startWorker(seat: number): void {
    const { world, random, redis, schedule, runs } = this;
    const services: WorkerServices = {
      world,
      random,
      redis,
      schedule,
      runs,
      requestOf: (requestId) => {
        const client = this.clients.find(({ id }) => id === requestId);
        if (!client) throw new TypeError('a job of nobody');
        return client.request;
      },
      trace: (text) => this.trace(text),
      onDead: ({ id: worker }, isAnnounced) => {
        world.after(between(random, 1, 20), () => {
          if (isAnnounced) publishWorkerNews(this.bus, { type: 'exited', worker }).catch(() => undefined);
        });
        world.after(between(random, 20, 400), () => this.startWorker(seat));
      },
    };
    const worker = new SimulatedWorker(`w${this.workers.length}`, services);
    this.workers.push(worker);
    this.seats[seat] = worker;
  }

  private isOver(): boolean {
    for (const client of this.clients) if (!client.isOver) return false;
    if (this.dispatcher.count > 0) return false;
    for (const worker of this.workers) if (!worker.isIdle) return false;
    return true;
  }

  private trace(text: string): void {
    this.options.trace?.(`${String(this.world.now).padStart(6)} ms  ${text}`);
  }
}
