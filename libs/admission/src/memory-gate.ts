import { SluiceError } from '@sluice/canonical';
import { type Clock, systemClock, type Timer } from '@sluice/runtime';
import { evictionIn } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';

/** `refusedBy` of its error. */
export const memoryRefusal = 'memory';

export interface MemoryGateOptions {
  redis: Redis | Cluster;
  /** Default: the host's. */
  clock?: Clock;
  /** Milliseconds between two looks; default 1,000. */
  everyMs?: number;
  /** Part of maxmemory above which the gate is shut; default 0.7. A full Redis can't finish running jobs. */
  threshold?: number;
  /**
   * Told the policy by which a node has begun to delete what we put there when its memory is full, and of nothing when all
   * keep it again: whoever refuses such a Redis at the start can meet it later, by a setting or a failover. Default: nobody.
   */
  onEviction?(policy: string | undefined): void;
}

/** Shuts admission while Redis' memory is nearly full. */
export interface MemoryGate {
  /** Throws `unavailable` while the gate is shut. */
  check(): void;
  /** Used part of maxmemory at the last look, of the fullest node; 0 without a limit. */
  readonly fill: number;
  /** Returns after the first look. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createMemoryGate(options: MemoryGateOptions): MemoryGate {
  return new PollingMemoryGate(options);
}

class PollingMemoryGate implements MemoryGate {
  fill = 0;
  private readonly redis: Redis | Cluster;
  private readonly clock: Clock;
  private readonly everyMs: number;
  private readonly threshold: number;
  private readonly onEviction: (policy: string | undefined) => void;
  private eviction: string | undefined;
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;

  constructor({
    redis,
    clock = systemClock,
    everyMs = 1000,
    threshold = 0.7,
    onEviction = () => undefined,
  }: MemoryGateOptions) {
    this.redis = redis;
    this.clock = clock;
    this.everyMs = everyMs;
    this.threshold = threshold;
    this.onEviction = onEviction;
  }

  check(): void {
    if (this.fill <= this.threshold) return;
    throw new SluiceError('unavailable', 'the queue is short of memory', {
      refusedBy: memoryRefusal,
      retryAfterMs: 5000,
    });
  }

  async start(): Promise<void> {
    this.schedule();
    await this.look();
  }

  async close(): Promise<void> {
    this.timer?.cancel();
    this.timer = undefined;
    await this.looking;
  }

  private schedule(): void {
    this.timer = this.clock.after(this.everyMs, () => {
      this.schedule();
      void this.look();
    });
    this.timer.unref();
  }

  /** One look at a time. A look that fails changes nothing: that Redis is away is noticed by those who need it. */
  private look(): Promise<void> {
    this.looking ??= this.askNodes()
      .then((infos) => this.note(infos))
      .catch(() => undefined)
      .finally(() => {
        this.looking = undefined;
      });
    return this.looking;
  }

  private askNodes(): Promise<string[]> {
    const nodes = this.redis instanceof Cluster ? this.redis.nodes('master') : [this.redis];
    return Promise.all(nodes.map((node) => node.info('memory')));
  }

  private note(infos: readonly string[]): void {
    this.fill = Math.max(0, ...infos.map(memoryFill));
    const eviction = infos.map(evictionIn).find((policy) => policy !== undefined);
    if (eviction === this.eviction) return;
    this.eviction = eviction;
    this.onEviction(eviction);
  }
}

/** Used part of maxmemory in the text of INFO memory; 0 where there is no limit. */
export function memoryFill(info: string): number {
  const read = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limit = read('maxmemory');
  // What Redis itself leaves out when it compares: buffers of replicas and of the append-only file.
  return limit === 0 ? 0 : (read('used_memory') - read('mem_not_counted_for_evict')) / limit;
}
