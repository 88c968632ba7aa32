import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '../installation/installation.ts';
import type { FaultRecord } from '../observation.ts';
import type { Random } from '../random.ts';
import type { FaultKind } from './fault-kind.ts';

export interface NemesisOptions {
  installation: Installation;
  random: Random;
  kinds: readonly FaultKind[];
  /** How many faults are under way at the same time; default 1. */
  lanes?: number;
  /** How many faults it injects; default: as many as fit until it is stopped. */
  limit?: number;
}

/** The longest pause after a fault. */
const pauseLimitMs = 400;

/** Injects one fault after the other until it is stopped, and records them. */
export class Nemesis {
  readonly faults: FaultRecord[] = [];
  private readonly options: NemesisOptions;
  private readonly stopping = new AbortController();
  private readonly held = new Set<string>();
  private running: Promise<void> = Promise.resolve();

  constructor(options: NemesisOptions) {
    this.options = options;
  }

  /** Whether no further fault comes: all have been injected, or one could not be undone. */
  get isDone(): boolean {
    return (
      this.stopping.signal.aborted || this.faults.length >= (this.options.limit ?? Number.POSITIVE_INFINITY)
    );
  }

  start(): void {
    const lanes = Array.from({ length: this.options.lanes ?? 1 }, () => this.runLane());
    this.running = Promise.all(lanes).then(() => undefined);
    // Whoever stops the nemesis hears of it.
    this.running.catch(() => this.stopping.abort());
  }

  /** Resolves when every fault is undone. Rejects if one could not be undone. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async runLane(): Promise<void> {
    const { random } = this.options;
    while (!this.isDone) {
      await this.breakSomething();
      await sleep(random.between(0, pauseLimitMs), undefined, { signal: this.stopping.signal }).catch(
        () => undefined,
      );
    }
  }

  private async breakSomething(): Promise<void> {
    const { installation, random, kinds } = this.options;
    const kind = random.pick(kinds);
    const target = kind.target(installation, random);
    // Another lane is breaking this target already.
    if (this.held.has(target)) return;
    this.held.add(target);
    const record: FaultRecord = {
      kind: kind.name,
      target,
      startedAt: Date.now(),
      endedAt: Number.POSITIVE_INFINITY,
    };
    this.faults.push(record);
    try {
      await kind.inflict(installation, target, random);
    } finally {
      record.endedAt = Date.now();
      this.held.delete(target);
    }
  }
}
