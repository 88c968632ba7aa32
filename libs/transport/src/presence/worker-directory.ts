import type { ResumeAbility } from '@sluice/canonical';
import type { PoolPresence, WorkerNews } from './presence.ts';

/** Why a worker no longer counts. */
export type LostReason = 'exited' | 'silent' | 'draining';

/** When a worker counts as lost, and what is called then. */
export interface DirectoryOptions {
  /** Monotonic milliseconds. */
  now(): number;
  /** A worker that says nothing for this long is lost. */
  silenceLimitMs: number;
  /**
   * Called once per loss; a worker that is heard again later counts as a new one. On `draining`, requests should be
   * taken away from the worker. `isExpected`: the worker had announced that it leaves.
   */
  onLost(worker: string, reason: LostReason, isExpected: boolean): void;
  /** Called when a worker that was lost because it was silent is heard again, so that its silence was no death. */
  onHeardAgain(worker: string): void;
}

interface Entry {
  heardAt: number;
  pools: Record<string, PoolPresence>;
  isDraining: boolean;
  /** How often it has announced itself. */
  beats: number;
}

/** What an ingress knows about the workers: which live, what they serve, which have fallen silent. */
export class WorkerDirectory {
  private readonly workers = new Map<string, Entry>();
  /**
   * Slots of each pool, by the workers that take its jobs. The sums are kept because every waiting generation asks for
   * them four times a second; adding them up each time would cost generations × workers.
   */
  private readonly slots = new Map<string, number>();
  private readonly exited = new Set<string>();
  /** Workers that were lost because they were silent, and have not been heard since. */
  private readonly silent = new Set<string>();
  /** For each pool, the ability to resume that was announced last. */
  private readonly lastResume = new Map<string, ResumeAbility>();
  /** For each pool, how many workers were lost without having announced it. */
  private readonly deaths = new Map<string, number>();
  private checkedAt: number;
  private readonly options: DirectoryOptions;

  constructor(options: DirectoryOptions) {
    this.options = options;
    this.checkedAt = options.now();
  }

  receive(news: WorkerNews): void {
    // After a worker's own news of its exit come those of its supervisor, and perhaps a late presence, which must not
    // bring it back.
    if (this.exited.has(news.worker)) return;
    if (news.type === 'exited') {
      remember(this.exited, news.worker);
      this.lose(news.worker, 'exited');
      return;
    }
    const before = this.workers.get(news.worker);
    const isDraining = news.state === 'draining';
    for (const [pool, { resume }] of Object.entries(news.pools)) this.lastResume.set(pool, resume);
    const beats = (before?.beats ?? 0) + 1;
    this.put(news.worker, { heardAt: this.options.now(), pools: news.pools, isDraining, beats });
    if (isDraining && !before?.isDraining) this.options.onLost(news.worker, 'draining', true);
  }

  /** Notes a sign of life. Any message of a worker is one, and an unknown worker is watched from then on. */
  heard(worker: string): void {
    const entry = this.workers.get(worker);
    const heardAt = this.options.now();
    if (entry) entry.heardAt = heardAt;
    else if (!this.exited.has(worker)) {
      this.put(worker, { heardAt, pools: {}, isDraining: false, beats: 0 });
    }
  }

  /**
   * Declares silent workers lost. Call it a few times a second. `isListening` must be false if no worker could have
   * been heard. Then, and after a pause of our own event loop, the silence of every worker is counted anew.
   */
  check(isListening: boolean): void {
    const now = this.options.now();
    const pausedMs = now - this.checkedAt;
    this.checkedAt = now;
    const isForgiving = !isListening || pausedMs > this.options.silenceLimitMs / 2;
    for (const [worker, entry] of this.workers) {
      if (isForgiving) entry.heardAt = now;
      else if (now - entry.heardAt > this.options.silenceLimitMs) {
        remember(this.silent, worker);
        this.lose(worker, 'silent');
      }
    }
  }

  /** Whether the worker is known to have exited. Messages that it had sent before may still arrive. */
  hasExited(worker: string): boolean {
    return this.exited.has(worker);
  }

  /** Slots of all living workers that take jobs of this pool. */
  slotsOf(pool: string): number {
    return this.slots.get(pool) ?? 0;
  }

  /** For each living worker that may have jobs of this pool, how often it has announced itself. */
  beatsOf(pool: string): ReadonlyMap<string, number> {
    const beats = new Map<string, number>();
    for (const [worker, entry] of this.workers) {
      // A worker that takes no more jobs names no pools, but still runs the jobs that it has.
      if (entry.pools[pool] || Object.keys(entry.pools).length === 0) beats.set(worker, entry.beats);
    }
    return beats;
  }

  /** Whether a job of this pool may be on its way to one of the living workers. */
  isReading(pool: string): boolean {
    for (const { pools } of this.workers.values()) if (pools[pool]?.isReading) return true;
    return false;
  }

  /** How many workers that took jobs of this pool have died or fallen silent. */
  deathsOf(pool: string): number {
    return this.deaths.get(pool) ?? 0;
  }

  /**
   * How a lost generation of this pool can be resumed: what all its living workers can do. Without living workers, what
   * the last one could do: its successor is probably on the way, and if not, the request ends for want of workers.
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
    const before = this.workers.get(worker);
    // A worker that leaves in order names no pools any more, so it is not counted.
    for (const pool of Object.keys(before?.pools ?? {})) this.deaths.set(pool, this.deathsOf(pool) + 1);
    this.put(worker, undefined);
    if (before || reason === 'exited') this.options.onLost(worker, reason, before?.isDraining ?? false);
  }

  /** Replaces what is known about a worker; without an entry, the worker is forgotten. */
  private put(worker: string, entry: Entry | undefined): void {
    this.count(this.workers.get(worker), -1);
    if (entry) this.workers.set(worker, entry);
    else this.workers.delete(worker);
    this.count(entry, 1);
    if (entry && this.silent.delete(worker)) this.options.onHeardAgain(worker);
  }

  private count(entry: Entry | undefined, sign: 1 | -1): void {
    if (!entry || entry.isDraining) return;
    for (const [pool, { slots }] of Object.entries(entry.pools))
      this.slots.set(pool, (this.slots.get(pool) ?? 0) + sign * slots);
  }
}

/** Remembers a worker; of many, the oldest is forgotten. */
function remember(workers: Set<string>, worker: string): void {
  workers.add(worker);
  if (workers.size > 1_000) {
    const [oldest] = workers;
    if (oldest !== undefined) workers.delete(oldest);
  }
}
