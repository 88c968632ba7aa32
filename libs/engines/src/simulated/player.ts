import type { Seat } from '@sluice/runtime';
import type { Teller } from './teller.ts';
import type { Sleeper, Timing } from './timing.ts';

/** Steps per turn of the event loop, so that a generation without gaps leaves room for the others. */
const stepsPerTurn = 32;
/** A step that only repeats what was delivered costs next to nothing. */
const silentStepsPerTurn = 512;

/** What is played, and how fast. */
export interface Performance {
  teller: Teller;
  ttftMs: number;
  gapMs: number;
  burst: number;
  timing: Timing;
  /** False while what was delivered is being repeated, which needs no pauses. */
  isCaughtUp(): boolean;
  /** Called once, after the terminal event, an abort or a failure of the teller (which is passed on). */
  onEnd(thrown?: unknown): void;
}

/** Plays a telling at its pace. */
export class Player implements Sleeper {
  dueAt = 0;
  seat: Seat<Sleeper> | undefined;
  private readonly performance: Performance;
  private paced = 0;
  private firstDueAt = 0;
  private ended = false;

  constructor(performance: Performance) {
    this.performance = performance;
  }

  start(): void {
    const { timing, ttftMs, isCaughtUp } = this.performance;
    this.firstDueAt = timing.now() + (isCaughtUp() ? ttftMs : 0);
    this.dueAt = this.firstDueAt;
    if (this.dueAt > timing.now()) timing.sleep(this);
    else this.wake();
  }

  /** Ends it at once. `thrown` goes to `onEnd`; absent means that nobody wants to hear more. */
  stop(thrown?: unknown): void {
    if (!this.ended) this.end(thrown);
  }

  wake(): void {
    if (this.ended) return;
    try {
      if (this.performance.isCaughtUp()) this.play();
      else this.catchUp();
    } catch (thrown) {
      if (!this.ended) this.end(thrown);
    }
  }

  private play(): void {
    const { teller, timing } = this.performance;
    const now = timing.now();
    for (let step = 0; step < stepsPerTurn; step += 1) {
      if (this.dueAt > now) {
        timing.sleep(this);
        return;
      }
      const beat = teller.step();
      if (beat === 'end') this.end();
      // The receiver of an event may have aborted the run.
      if (this.ended || beat === 'stall') return;
      this.advance();
    }
    timing.yield(this);
  }

  private catchUp(): void {
    const { teller, timing, isCaughtUp } = this.performance;
    for (let step = 0; step < silentStepsPerTurn; step += 1) {
      const beat = teller.step();
      if (beat === 'end') this.end();
      if (this.ended || beat === 'stall') return;
      if (!isCaughtUp()) continue;
      this.firstDueAt = timing.now();
      this.dueAt = this.firstDueAt;
      break;
    }
    timing.yield(this);
  }

  private advance(): void {
    const { gapMs, burst } = this.performance;
    this.paced += 1;
    // Counted from the first token, so that late wake-ups do not add up.
    this.dueAt = this.firstDueAt + Math.floor(this.paced / burst) * gapMs;
  }

  private end(thrown?: unknown): void {
    this.ended = true;
    this.performance.timing.forget(this);
    this.performance.onEnd(thrown);
  }
}
