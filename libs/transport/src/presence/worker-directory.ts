import type { ResumeAbility } from '@sluice/canonical';
import type { PoolPresence, WorkerNews } from './presence.ts';

export type LostReason = 'exited' | 'silent' | 'draining';

export interface DirectoryOptions {
  /** Monotonic milliseconds. */
  now(): number;
  /** A worker that says nothing for this long is lost. */
  silenceLimitMs: number;
  /**
   * Called once per loss; a worker that speaks again later is a new one. `draining` means: take your requests away.
   * `isExpected`: the worker has said that it goes.
   */
  onLost(worker: string, reason: LostReason, isExpected: boolean): void;
}

interface Entry {
  heardAt: number;
  pools: Record<string, PoolPresence>;
  isDraining: boolean;
  /** How often it has announced itself. */
  beats: number;
}

/** What an ingress knows of the workers: who lives, what they serve, who fell silent. */
export class WorkerDirectory {
  private readonly workers = new Map<string, Entry>();
  /**
   * Of each pool the slots of those who take jobs of it. Everything that waits asks for them, four times a second: counted
   * for each, they cost as much as all that wait times all workers.
   */
  private readonly slots = new Map<string, number>();
  private readonly exited = new Set<string>();
  /** What the worker that last spoke could do in each pool. */
  private readonly lastResume = new Map<string, ResumeAbility>();
  /** Workers of each pool that were lost without a word of going. */
  private readonly deaths = new Map<string, number>();
  private checkedAt: number;
  private readonly options: DirectoryOptions;

  constructor(options: DirectoryOptions) {
    this.options = options;
    this.checkedAt = options.now();
  }

  receive(news: WorkerNews): void {
    if (news.type === 'exited') {
      // Its supervisor says it once more.
      if (this.exited.has(news.worker)) return;
      this.remember(news.worker);
      this.lose(news.worker, 'exited');
      return;
    }
    if (this.exited.has(news.worker)) return;
    const before = this.workers.get(news.worker);
    const isDraining = news.state === 'draining';
    for (const [pool, { resume }] of Object.entries(news.pools)) this.lastResume.set(pool, resume);
    const beats = (before?.beats ?? 0) + 1;
    this.put(news.worker, { heardAt: this.options.now(), pools: news.pools, isDraining, beats });
    if (isDraining && !before?.isDraining) this.options.onLost(news.worker, 'draining', true);
  }

  /** Any message of a worker shows that it lives, and starts the watch over its silence. */
  heard(worker: string): void {
    const entry = this.workers.get(worker);
    const heardAt = this.options.now();
    if (entry) entry.heardAt = heardAt;
    else if (!this.exited.has(worker)) {
      this.put(worker, { heardAt, pools: {}, isDraining: false, beats: 0 });
    }
  }

  /**
   * Declares silent workers lost. Call it a few times a second. `isListening` false means that we could not
   * have heard anybody: then, and after a pause of our own event loop, everybody's silence starts again.
   */
  check(isListening: boolean): void {
    const now = this.options.now();
    const pausedMs = now - this.checkedAt;
    this.checkedAt = now;
    const isForgiving = !isListening || pausedMs > this.options.silenceLimitMs / 2;
    for (const [worker, entry] of this.workers) {
      if (isForgiving) entry.heardAt = now;
      else if (now - entry.heardAt > this.options.silenceLimitMs) this.lose(worker, 'silent');
    }
  }

  has(worker: string): boolean {
    return this.workers.has(worker);
  }

  /** Whether its supervisor has said that it is dead. What it had sent before may still arrive. */
  hasExited(worker: string): boolean {
    return this.exited.has(worker);
  }

  /** Slots of all living workers that take jobs of this pool. */
  slotsOf(pool: string): number {
    return this.slots.get(pool) ?? 0;
  }

  /** How often each living worker that may hold jobs of this pool has announced itself. */
  beatsOf(pool: string): ReadonlyMap<string, number> {
    const beats = new Map<string, number>();
    for (const [worker, entry] of this.workers) {
      // Who takes no further jobs names no pools, but still runs what it has.
      if (entry.pools[pool] || Object.keys(entry.pools).length === 0) beats.set(worker, entry.beats);
    }
    return beats;
  }

  /** How many workers that took jobs of this pool have died or fallen silent so far. */
  deathsOf(pool: string): number {
    return this.deaths.get(pool) ?? 0;
  }

  /**
   * How a generation of this pool can go on elsewhere: what every living worker of it can do. Without any, what
   * the last one could: its successor is on the way, and if it is not, the request ends for want of workers.
   */
  resumeOf(pool: string): ResumeAbility {
    let common: ResumeAbility | undefined;
    for (const { pools, isDraining } of this.workers.values()) {
      const ability = pools[pool]?.resume;
      if (ability === undefined || isDraining) continue;
      if (common !== undefined && common !== ability) return 'none';
      common = ability;
    }
    return common ?? this.lastResume.get(pool) ?? 'none';
  }

  private lose(worker: string, reason: LostReason): void {
    // Who goes in order has named no pools any more.
    const pools = this.workers.get(worker)?.pools ?? {};
    for (const pool of Object.keys(pools)) this.deaths.set(pool, this.deathsOf(pool) + 1);
    const before = this.workers.get(worker);
    this.put(worker, undefined);
    if (before || reason === 'exited') this.options.onLost(worker, reason, before?.isDraining ?? false);
  }

  /** Replaces what is known of a worker; without an entry it is forgotten. */
  private put(worker: string, entry: Entry | undefined): void {
    this.count(this.workers.get(worker), -1);
    if (entry) this.workers.set(worker, entry);
    else this.workers.delete(worker);
    this.count(entry, 1);
  }

  private count(entry: Entry | undefined, sign: 1 | -1): void {
    if (!entry || entry.isDraining) return;
    for (const [pool, { slots }] of Object.entries(entry.pools))
      this.slots.set(pool, (this.slots.get(pool) ?? 0) + sign * slots);
  }

  // A presence message may arrive after the supervisor's word; it must not bring the dead back.
  private remember(worker: string): void {
    this.exited.add(worker);
    if (this.exited.size > 1_000) {
      const [oldest] = this.exited;
      if (oldest !== undefined) this.exited.delete(oldest);
    }
  }
}
