import type { Clock } from '@sluice/runtime';
import { type Bus, presenceIntervalMs, publishNews } from '@sluice/transport';
import type { PoolWorker } from './pool-worker.ts';

/** How long the end of a worker waits until Redis has taken a piece of news. */
const newsLimitMs = 500;

/**
 * - `ready`: takes jobs.
 * - `closing`: takes no further jobs, but still speaks for what it runs.
 * - `draining`: gives up what it runs; whatever can goes on elsewhere.
 */
export type WorkerState = 'ready' | 'closing' | 'draining';

export interface PresenceOptions {
  bus: Bus;
  /** Id of this process. */
  worker: string;
  pools: readonly PoolWorker[];
  clock: Clock;
}

/** What this worker tells every ingress of itself: that it is there, what it offers, and that it goes. */
export class Presence {
  private readonly options: PresenceOptions;
  private state: WorkerState = 'ready';
  private timer: NodeJS.Timeout | undefined;

  constructor(options: PresenceOptions) {
    this.options = options;
  }

  /** Announces now and from then on by itself. Never rejects. */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.announce(), presenceIntervalMs);
    await this.announce();
  }

  /** Says it once more, to somebody who is new or was away; nothing while Redis is away. Never rejects. */
  async announce(): Promise<void> {
    const { bus, worker, pools } = this.options;
    // The connection would keep it, and after an outage say a thousand times how it was.
    if (!bus.canPublish()) return;
    // Who takes no further jobs offers no slots.
    const offered = this.state === 'ready' ? pools.map((pool) => [pool.name, pool.presence]) : [];
    await publishNews(bus, {
      type: 'presence',
      worker,
      state: this.state === 'draining' ? 'draining' : 'ready',
      pools: Object.fromEntries(offered),
    }).catch(() => 0);
  }

  /** Resolves when Redis has taken the news, or does not. */
  async enter(state: WorkerState): Promise<void> {
    this.state = state;
    await this.inTime(() => this.announce());
  }

  /** The last word. Resolves as `enter` does. */
  async leave(): Promise<void> {
    const { bus, worker } = this.options;
    clearInterval(this.timer);
    await this.inTime(() => publishNews(bus, { type: 'exited', worker }));
  }

  /** Without Redis nobody hears it, and the end of the process must not wait for that. */
  private async inTime(tell: () => Promise<unknown>): Promise<void> {
    const { bus, clock } = this.options;
    if (bus.canPublish()) await Promise.race([tell().catch(() => undefined), clock.sleep(newsLimitMs)]);
  }
}
