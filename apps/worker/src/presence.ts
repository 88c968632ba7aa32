import type { Clock } from '@sluice/runtime';
import { type Bus, presenceIntervalMs, publishWorkerNews } from '@sluice/transport';
import type { PoolWorker } from './pool-worker.ts';

/** How long a worker that ends waits for Redis to take a piece of news. */
const newsLimitMs = 500;

/**
 * - `ready`: takes jobs.
 * - `closing`: takes no more jobs, and finishes those that it has.
 * - `draining`: gives up the jobs that it has; those that can go on elsewhere do.
 */
export type WorkerState = 'ready' | 'closing' | 'draining';

/** What a worker announces, and where. */
export interface PresenceOptions {
  /** What carries the frames. News of the end goes behind them. */
  bus: Bus;
  /** What carries the signs of life: a frame of many megabytes must not hold them up until the worker seems lost. */
  signs: Pick<Bus, 'publish' | 'canPublish'>;
  /** Id of this process. */
  worker: string;
  pools: readonly PoolWorker[];
  clock: Clock;
}

/** Tells every ingress of this worker: that it lives, which pools and slots it offers, and that it leaves. */
export class Presence {
  private readonly options: PresenceOptions;
  private state: WorkerState = 'ready';
  private timer: NodeJS.Timeout | undefined;
  /** The announcement of changes that is under way, or the last one, and the one that follows it. */
  private telling: Promise<void> = Promise.resolve();
  private following: Promise<void> | undefined;

  constructor(options: PresenceOptions) {
    this.options = options;
  }

  /** Announces the worker now and periodically from then on. Never rejects. */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.announce(), presenceIntervalMs);
    await this.announce();
  }

  /** Announces the worker once, for example to a new ingress. Does nothing while Redis is away. Never rejects. */
  async announce(): Promise<void> {
    const { bus, signs, worker, pools } = this.options;
    // A connection would queue the messages, and send all of them, outdated, after an outage. And a worker that can send
    // no frames is as good as lost.
    if (!bus.canPublish() || !signs.canPublish()) return;
    // A worker that takes no more jobs offers no slots.
    const offered = this.state === 'ready' ? pools.map((pool) => [pool.name, pool.presence]) : [];
    await publishWorkerNews(this.state === 'draining' ? bus : signs, {
      type: 'presence',
      worker,
      state: this.state === 'draining' ? 'draining' : 'ready',
      pools: Object.fromEntries(offered),
    }).catch(() => 0);
  }

  /**
   * Announces what has changed. Calls while an announcement is under way share the next one: when 300 pools started,
   * one for each took every ingress 0.1 s. Never rejects.
   */
  announceChange(): Promise<void> {
    this.following ??= this.telling.then(() => {
      this.following = undefined;
      this.telling = this.announce();
      return this.telling;
    });
    return this.following;
  }

  /** Changes the state and announces it. Resolves when Redis has taken the news, or after 500 ms. */
  async enter(state: WorkerState): Promise<void> {
    this.state = state;
    await this.inTime(() => this.announce());
  }

  /** Announces that the worker has exited. Resolves as `enter` does. */
  async leave(): Promise<void> {
    const { bus, worker } = this.options;
    clearInterval(this.timer);
    await this.inTime(() => publishWorkerNews(bus, { type: 'exited', worker }));
  }

  /**
   * Waits for the news no longer than the limit, and not at all without Redis: the process must not wait for it to end.
   */
  private async inTime(tell: () => Promise<unknown>): Promise<void> {
    const { bus, clock } = this.options;
    if (bus.canPublish()) await Promise.race([tell().catch(() => undefined), clock.sleep(newsLimitMs)]);
  }
}
