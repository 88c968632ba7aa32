import { SluiceError } from '@sluice/canonical';
import {
  attemptId,
  type Bus,
  encodeBatch,
  type InferenceJob,
  type JobQueue,
  replyChannel,
} from '@sluice/transport';
import { between, type Random } from './random.ts';
import { calmAt, type Schedule } from './schedule.ts';
import type { World } from './world.ts';

const keyRenewalMs = 2_500;

/** A process that is connected to Redis. */
export interface Peer {
  /** Runs a callback in this process: not at all if it has died, and later if it stands still. */
  run(callback: () => void): void;
}

interface Line extends Peer {
  readonly listeners: Map<string, (text: string) => void>;
  readonly resubscribed: (() => void)[];
  isCut: boolean;
}

/** One Redis: a bus that may lose and double messages, and one queue. */
export class SimulatedRedis {
  isDown = false;
  /**
   * Whether the ingress's sign of life is there. After Redis has lost everything, it is missing until it is renewed.
   */
  knowsIngress = true;
  /** Jobs that were put into the queue while the reply to their ingress was lost, which sends them again. */
  lostAnswers = 0;
  /** Called when a job waits or may be taken again. */
  onWaiting: () => void = () => undefined;
  private readonly lines: Line[] = [];
  /** Waiting jobs in order. A job that came back in a failover is not listed as waiting. */
  private jobs: { job: InferenceJob; priority: number; isListed: boolean }[] = [];
  private giveOutAgainAfterMs: number | undefined;
  private readonly world: World;
  private readonly random: Random;
  private readonly settings: Schedule['bus'];

  constructor(world: World, random: Random, settings: Schedule['bus']) {
    this.world = world;
    this.random = random;
    this.settings = settings;
  }

  /** A bus for one process. */
  connect(peer: Peer): { bus: Bus; line: { isCut: boolean } } {
    const line: Line = { run: peer.run.bind(peer), listeners: new Map(), resubscribed: [], isCut: false };
    this.lines.push(line);
    const bus: Bus = {
      publish: (channel, text) => this.publish(channel, text),
      post: (channel, text) => {
        this.publish(channel, text).catch(() => undefined);
        return Buffer.byteLength(text);
      },
      subscribe: async (channel, listener) => {
        line.listeners.set(channel, listener);
      },
      onResubscribed: (listener) => line.resubscribed.push(listener),
      isUp: () => !line.isCut && !this.isDown,
      isReached: () => !line.isCut && !this.isDown,
      canPublish: () => !this.isDown,
    };
    return { bus, line };
  }

  /** Cuts a process's subscriptions for a while. */
  cut(line: { isCut: boolean }, forMs: number): void {
    line.isCut = true;
    this.world.after(forMs, () => {
      line.isCut = false;
      if (!this.isDown) this.tellResubscribed(line);
    });
  }

  /** Loses everything and comes back empty. */
  restart(forMs: number): void {
    this.isDown = true;
    this.jobs = [];
    this.knowsIngress = false;
    this.world.after(forMs + between(this.random, 0, keyRenewalMs), () => {
      this.knowsIngress = true;
    });
    this.world.after(forMs, () => {
      this.isDown = false;
      for (const line of this.lines) if (!line.isCut) this.tellResubscribed(line);
    });
  }

  loseJob(): void {
    this.jobs.shift();
  }

  /** Lets a failover lose the claim of the next job, which then comes back after this long. */
  giveOutAgain(afterMs: number): void {
    this.giveOutAgainAfterMs = afterMs;
  }

  /** Gives the next job to a worker. `isAnnounced`: its ingress has been told. */
  take(worker: string): { job: InferenceJob; isAnnounced: boolean } | undefined {
    if (this.isDown) return undefined;
    const entry = this.jobs.shift();
    if (!entry) return undefined;
    if (this.giveOutAgainAfterMs !== undefined) {
      this.world.after(this.giveOutAgainAfterMs, () => {
        this.jobs.unshift({ ...entry, isListed: false });
        this.onWaiting();
      });
      this.giveOutAgainAfterMs = undefined;
    }
    return { job: entry.job, isAnnounced: this.settings.announcesClaims && this.tell(worker, entry.job) };
  }

  private tell(worker: string, { requestId, attempt, replyTo }: InferenceJob): boolean {
    return this.deliver(replyChannel(replyTo), encodeBatch({ worker, claims: [{ requestId, attempt }] })) > 0;
  }

  readonly queue: JobQueue = {
    enqueue: async (_pool, job, priority) => {
      this.world.hasContinuations = true;
      if (this.isDown) throw new SluiceError('unavailable', 'the queue is not reachable');
      const id = attemptId(job);
      if (!this.jobs.some((entry) => attemptId(entry.job) === id)) {
        const behind = this.jobs.findIndex((entry) => entry.priority > priority);
        // A job is text in Redis, so later changes by the ingress do not reach it.
        const entry = { job: JSON.parse(JSON.stringify(job)), priority, isListed: true };
        this.jobs.splice(behind < 0 ? this.jobs.length : behind, 0, entry);
        this.onWaiting();
      }
      // The reply to a command that was executed can be lost, too.
      if (this.world.now < calmAt && this.random() < this.settings.loss / 4) {
        this.lostAnswers += 1;
        throw new SluiceError('unavailable', 'the queue is not reachable');
      }
    },
    remove: async (_pool, requestId, attempt) => {
      this.world.hasContinuations = true;
      if (this.isDown) throw new SluiceError('unavailable', 'the queue is not reachable');
      this.jobs = this.jobs.filter(({ job }) => job.requestId !== requestId || job.attempt !== attempt);
    },
    depth: async () => this.jobs.length,
    areWaiting: async (_pool, attempts) => {
      this.world.hasContinuations = true;
      if (this.isDown) throw new SluiceError('unavailable', 'the queue is not reachable');
      return attempts.map(({ requestId, attempt }) =>
        this.jobs.some(
          ({ job, isListed }) => isListed && job.requestId === requestId && job.attempt === attempt,
        ),
      );
    },
    close: async () => undefined,
  };

  private async publish(channel: string, text: string): Promise<number> {
    this.world.hasContinuations = true;
    if (this.isDown) throw new SluiceError('unavailable', 'redis is away');
    return this.deliver(channel, text);
  }

  private deliver(channel: string, text: string): number {
    let receivers = 0;
    for (const line of this.lines) {
      if (!line.listeners.has(channel) || line.isCut) continue;
      receivers += 1;
      this.send(line, channel, text);
      if (this.random() < this.settings.duplication) this.send(line, channel, text);
    }
    return receivers;
  }

  private send(line: Line, channel: string, text: string): void {
    const { loss, delayMs, isOrdered } = this.settings;
    if (this.world.now < calmAt && this.random() < loss) return;
    this.world.after(isOrdered ? delayMs : between(this.random, 0, delayMs * 2), () => {
      if (line.isCut || this.isDown) return;
      line.run(() => line.listeners.get(channel)?.(text));
    });
  }

  private tellResubscribed(line: { isCut: boolean }): void {
    const known = this.lines.find((each) => each === line);
    known?.run(() => {
      for (const listener of known.resubscribed) listener();
    });
  }
}
