import { type Seat, TransientSet } from '@sluice/runtime';

/** Something that wants to continue at an instant. It sleeps at most once at a time. */
export interface Sleeper {
  /** When it wants to wake, by `Timing.now`. Set by the sleeper, and not changed while it sleeps. */
  dueAt: number;
  /** Where it sleeps; for the timing alone. */
  seat?: Seat<Sleeper> | undefined;
  wake(): void;
}

/** The clock and the alarm of paced generations. A test provides its own. */
export interface Timing {
  /** Epoch milliseconds with a fraction; never goes back. */
  now(): number;
  /** Wakes the sleeper at its `dueAt`, or up to a millisecond later. */
  sleep(sleeper: Sleeper): void;
  /** Wakes the sleeper in the next turn of the event loop, after sockets had theirs. */
  yield(sleeper: Sleeper): void;
  /** Cancels a sleeper, wherever it waits. */
  forget(sleeper: Sleeper): void;
}

/** A power of two, so that a mask finds the slot. */
const defaultSlotCount = 1024;

/**
 * One timer for all generations: a wheel of 1 ms slots. A token costs two set operations instead of a timer. All tokens
 * that are due in the same millisecond share one turn of the event loop, and so one message.
 */
export class TimerWheel implements Timing {
  private readonly slots: TransientSet<Sleeper>[];
  private sleeping = 0;
  private yielding = new Set<Sleeper>();
  private turn: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;
  private armedTick = Number.POSITIVE_INFINITY;
  /** The last tick whose slot was emptied. */
  private tick = Math.floor(epochNow());

  /** `slotCount` is a power of two: the milliseconds that one turn of the wheel takes. */
  constructor(slotCount: number = defaultSlotCount) {
    this.slots = Array.from({ length: slotCount }, () => new TransientSet());
  }

  now(): number {
    return epochNow();
  }

  sleep(sleeper: Sleeper): void {
    if (this.sleeping === 0) this.tick = Math.floor(epochNow());
    const tick = Math.max(tickOf(sleeper), this.tick + 1);
    this.slotAt(tick).add(sleeper);
    this.sleeping += 1;
    if (tick < this.armedTick) this.arm(tick);
  }

  yield(sleeper: Sleeper): void {
    this.yielding.add(sleeper);
    this.turn ??= setImmediate(() => this.runTurn());
  }

  forget(sleeper: Sleeper): void {
    this.yielding.delete(sleeper);
    const tick = tickOf(sleeper);
    // A sleeper that was already late is in the slot after the last emptied one.
    if (this.slotAt(tick).delete(sleeper) || this.slotAt(this.tick + 1).delete(sleeper)) this.sleeping -= 1;
    if (this.sleeping > 0 || this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.armedTick = Number.POSITIVE_INFINITY;
  }

  private runTurn(): void {
    this.turn = undefined;
    const ready = this.yielding;
    this.yielding = new Set();
    for (const sleeper of ready) sleeper.wake();
  }

  private runDue(): void {
    this.timer = undefined;
    this.armedTick = Number.POSITIVE_INFINITY;
    const now = Math.floor(epochNow());
    const due: Sleeper[] = [];
    for (let tick = Math.max(this.tick + 1, now - this.slots.length + 1); tick <= now; tick += 1)
      this.collect(tick, now, due);
    this.tick = Math.max(this.tick, now);
    this.sleeping -= due.length;
    for (const sleeper of due) sleeper.wake();
    this.armNext();
  }

  /** Ticks that are a whole turn of the wheel apart share a slot; the later ones stay. */
  private collect(tick: number, now: number, due: Sleeper[]): void {
    const slot = this.slotAt(tick);
    for (const sleeper of slot) {
      if (tickOf(sleeper) > now) continue;
      slot.delete(sleeper);
      due.push(sleeper);
    }
  }

  private armNext(): void {
    if (this.sleeping === 0) return;
    for (let tick = this.tick + 1; tick <= this.tick + this.slots.length; tick += 1) {
      if (this.slotAt(tick).size === 0) continue;
      if (tick < this.armedTick) this.arm(tick);
      return;
    }
  }

  private arm(tick: number): void {
    clearTimeout(this.timer);
    this.armedTick = tick;
    // Rounded up, because a timer that fires early would only spin.
    this.timer = setTimeout(() => this.runDue(), Math.max(0, Math.ceil(tick - epochNow())));
  }

  private slotAt(tick: number): TransientSet<Sleeper> {
    // Safe to cast: the index is masked to the length of the array.
    return this.slots[tick & (this.slots.length - 1)] as TransientSet<Sleeper>;
  }
}

function tickOf(sleeper: Sleeper): number {
  return Math.ceil(sleeper.dueAt);
}

/**
 * Wall clock at the start plus monotonic time: comparable between processes of a host, and finer than a millisecond.
 */
function epochNow(): number {
  return performance.timeOrigin + performance.now();
}
