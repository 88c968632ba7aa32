import { SluiceError } from '@sluice/canonical';
import { type Clock, lookRegularly, type RegularLook, systemClock } from '@sluice/runtime';
import { evictionIn } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';

/** The `refusedBy` of the gate's error. */
export const memoryRefusal = 'memory';
/** Milliseconds between two looks. */
const everyMs = 1_000;
/** Share of maxmemory above which the gate is shut. In a full Redis, running jobs could not finish. */
const threshold = 0.7;

/** How the memory of Redis is watched. */
export interface MemoryGateOptions {
  redis: Redis | Cluster;
  /** Default: the host's. */
  clock?: Clock;
  /**
   * Called with the policy when a node is found to evict our keys once its memory is full, and with nothing when no
   * node does so any more. Such a Redis is refused at start, but a setting or a failover can bring one later. Default:
   * nothing.
   */
  onEviction?(policy: string | undefined): void;
  /**
   * Called with the used share of maxmemory when the gate has shut, and with nothing once a tenth less is in use than
   * shuts it, so that a memory about that full is not told of at every look. Default: nothing.
   */
  onFull?(fill: number | undefined): void;
  /**
   * Called with the error when Redis refuses to tell of its memory, as to a user who may no longer ask, and with nothing
   * when it tells again. Meanwhile what it told last stands. Default: nothing.
   */
  onRefusal?(refusal: Error | undefined): void;
}

/** Shuts admission while the memory of Redis is nearly full. It is open until its first look. */
export class MemoryGate {
  /** Used share of maxmemory on the fullest node at the last look; 0 if there is no limit. */
  fill = 0;
  private readonly redis: Redis | Cluster;
  private readonly clock: Clock;
  private readonly onEviction: (policy: string | undefined) => void;
  private readonly onFull: (fill: number | undefined) => void;
  private readonly onRefusal: (refusal: Error | undefined) => void;
  private eviction: string | undefined;
  private isFull = false;
  private isRefused = false;
  private looks: RegularLook | undefined;

  constructor({
    redis,
    clock = systemClock,
    onEviction = () => undefined,
    onFull = () => undefined,
    onRefusal = () => undefined,
  }: MemoryGateOptions) {
    this.redis = redis;
    this.clock = clock;
    this.onEviction = onEviction;
    this.onFull = onFull;
    this.onRefusal = onRefusal;
  }

  /** Throws `unavailable` while the gate is shut. */
  check(): void {
    if (this.fill <= threshold) return;
    throw new SluiceError('unavailable', 'the queue is short of memory', {
      refusedBy: memoryRefusal,
      retryAfterMs: 5000,
    });
  }

  /** Returns after the first look. */
  async start(): Promise<void> {
    this.looks = lookRegularly(this.clock, everyMs, () => this.look());
    await this.looks.take();
  }

  async close(): Promise<void> {
    await this.looks?.close();
  }

  private async look(): Promise<void> {
    try {
      this.note(await this.askNodes());
      this.tellRefusal(undefined);
    } catch (error) {
      // A look that fails otherwise changes nothing: others notice that Redis is away.
      if (error instanceof Error && error.name === 'ReplyError') this.tellRefusal(error);
    }
  }

  private askNodes(): Promise<string[]> {
    const nodes = this.redis instanceof Cluster ? this.redis.nodes('master') : [this.redis];
    return Promise.all(nodes.map((node) => node.info('memory')));
  }

  private note(infos: readonly string[]): void {
    this.fill = Math.max(0, ...infos.map(memoryFill));
    this.tellFull();
    this.tellEviction(infos.map(evictionIn).find((policy) => policy !== undefined));
  }

  private tellFull(): void {
    const isFull = this.fill > threshold * (this.isFull ? 0.9 : 1);
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    this.onFull(isFull ? this.fill : undefined);
  }

  private tellRefusal(refusal: Error | undefined): void {
    const isRefused = refusal !== undefined;
    if (isRefused === this.isRefused) return;
    this.isRefused = isRefused;
    this.onRefusal(refusal);
  }

  private tellEviction(eviction: string | undefined): void {
    if (eviction === this.eviction) return;
    this.eviction = eviction;
    this.onEviction(eviction);
  }
}

/** Used share of maxmemory by the text of `INFO memory`; 0 if there is no limit. */
export function memoryFill(info: string): number {
  const read = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limit = read('maxmemory');
  // Redis, too, leaves out the buffers of replicas and of the append-only file when it compares.
  return limit === 0 ? 0 : (read('used_memory') - read('mem_not_counted_for_evict')) / limit;
}
