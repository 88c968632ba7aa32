import { longestTimerMs } from '../clock.ts';
import { createRandom, type Random } from '../random.ts';
import { sample } from '../scenario/distribution.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { DriverOptions, LoadDriver, LoadEnd } from './load-driver.ts';

interface User {
  /** When the user's next request is due. The user waits for that, or for an answer. */
  dueAt: number;
  /** When the user had the previous answer. */
  freeAt: number;
  /** Set while the user waits for `dueAt`. */
  timer?: NodeJS.Timeout;
  /** When the user's first measured request began. */
  since?: number;
  /** When the user would have begun the next request after the last measured one. */
  until?: number;
}

/** A number of users, each with one request at a time. */
export class ClosedDriver implements LoadDriver {
  private readonly options: DriverOptions;
  private readonly load: Extract<Scenario['load'], { kind: 'closed' }>;
  private readonly random: Random;
  private readonly users: readonly User[];
  private active: number;
  private begun = 0;
  private dropped = 0;
  private isEnded = false;
  private endTimer: NodeJS.Timeout | undefined;

  constructor(options: DriverOptions, load: Extract<Scenario['load'], { kind: 'closed' }>) {
    const { index, of } = options.share;
    this.options = options;
    this.load = load;
    this.random = createRandom(options.scenario.seed + 7919 * (index + 1));
    const count = Math.floor(load.users / of) + (index < load.users % of ? 1 : 0);
    this.users = Array.from({ length: count }, () => ({ dueAt: 0, freeAt: 0 }));
    this.active = count;
  }

  start(): void {
    const { startAt, clock } = this.options;
    const { index, of } = this.options.share;
    const { paceMs, rampUpMs, users } = this.load;
    // By a timer, not when users notice: one of them may wait for an answer that never comes.
    const leftMs = this.endAt - clock.now();
    this.endTimer = setTimeout(() => this.timeIsOver(), Math.min(leftMs, longestTimerMs));
    if (this.users.length === 0) this.end('used-up');
    this.users.forEach((user, at) => {
      // A paced user starts at some point of its first period; all at once would be an unintended burst.
      const offset = paceMs === undefined ? (rampUpMs * (index + of * at)) / users : this.random() * paceMs;
      this.wait(user, startAt + offset);
    });
  }

  stop(): void {
    this.end('stopped');
  }

  /**
   * The median over users of the time from a user's first request to the one that would have come next. These are whole
   * rounds: else the load would count for more than it was, since answers still come after its end. By the median, a
   * few users who never get an answer change nothing.
   */
  measuredMs(): number {
    const { paceMs } = this.load;
    const now = this.options.clock.now();
    const spans = this.users
      .map(({ since, until, dueAt }) => {
        if (since === undefined) return undefined;
        return (until ?? (paceMs === undefined ? now : dueAt + paceMs)) - since;
      })
      .filter((span) => span !== undefined)
      .sort((a, b) => a - b);
    return spans[Math.floor(spans.length / 2)] ?? 0;
  }

  unsent(): number {
    return this.dropped;
  }

  /** When the load is to end. */
  private get endAt(): number {
    return this.options.startAt + this.options.scenario.durationMs;
  }

  private wait(user: User, dueAt: number): void {
    user.dueAt = dueAt;
    user.freeAt = this.options.clock.now();
    this.wake(user);
  }

  /** A timer drops the fraction of its time, so one that fired may have to be set again. */
  private wake(user: User): void {
    delete user.timer;
    const now = this.options.clock.now();
    const waitMs = user.dueAt - now;
    if (waitMs <= 0 || this.isEnded || now >= this.endAt) this.request(user);
    else user.timer = setTimeout(() => this.wake(user), Math.min(waitMs, longestTimerMs));
  }

  private request(user: User): void {
    const { scenario, clock, trace } = this.options;
    // Without a pace there is no intended instant, so a late timer must not count as waiting.
    const intendedAt = this.load.paceMs === undefined ? clock.now() : user.dueAt;
    const arrival = this.nextArrival();
    if (this.isEnded || intendedAt >= this.endAt || arrival >= (scenario.requests ?? Infinity)) {
      this.leave(user);
      return;
    }
    this.begun += 1;
    const over = (retryWaitMs: number) => {
      // A user that was not asked to wait keeps the intended instant, however late it is.
      const retryAt = retryWaitMs > 0 ? this.options.clock.now() + retryWaitMs : Number.NEGATIVE_INFINITY;
      // In a microtask, after the connection is back in its pool; else each request would open another.
      queueMicrotask(() => this.wait(user, Math.max(retryAt, this.nextAt(intendedAt))));
    };
    const readyAt = Math.max(intendedAt, user.freeAt);
    const isMeasured = this.options.begin(arrival, intendedAt, trace?.[arrival], over, readyAt);
    if (isMeasured) user.since ??= intendedAt;
  }

  /**
   * The number of the next request. Requests go to the users of all processes in turn, so that a process with more users
   * begins more of them, and all processes take equally long.
   */
  private nextArrival(): number {
    const { index, of } = this.options.share;
    const own = this.users.length;
    return Math.floor(this.begun / own) * this.load.users + index + of * (this.begun % own);
  }

  private nextAt(intendedAt: number): number {
    const { paceMs, thinkMs } = this.load;
    return paceMs === undefined
      ? this.options.clock.now() + sample(thinkMs, this.random)
      : intendedAt + paceMs;
  }

  /**
   * With a pace, what was due by now is still sent within the grace, as in an open loop: the callers that a stall delays
   * most are those who came last.
   */
  private timeIsOver(): void {
    if (this.load.paceMs === undefined) {
      this.end('time');
      return;
    }
    this.endTimer = setTimeout(() => this.giveUp(), this.options.scenario.graceMs);
    for (const user of this.users) {
      if (user.timer === undefined) continue;
      clearTimeout(user.timer);
      this.wake(user);
    }
  }

  /** The grace is over: whoever still waits for an answer sends nothing any more. */
  private giveUp(): void {
    const { paceMs = 0 } = this.load;
    if (this.options.scenario.requests === undefined) {
      const waiting = this.users.filter(({ until }) => until === undefined);
      for (const { dueAt } of waiting)
        this.dropped += Math.max(0, Math.ceil((this.endAt - dueAt) / paceMs) - 1);
    }
    this.end('stopped');
  }

  /** Begins no more requests. A user that waits for an answer goes on until it has come or is given up. */
  private end(end: LoadEnd): void {
    if (this.isEnded) return;
    this.isEnded = true;
    clearTimeout(this.endTimer);
    for (const user of this.users) {
      if (user.timer === undefined) continue;
      clearTimeout(user.timer);
      this.leave(user);
    }
    this.options.exhausted(end, this.options.clock.now());
  }

  private leave(user: User): void {
    const now = this.options.clock.now();
    user.until = this.load.paceMs === undefined ? Math.max(user.dueAt, now) : user.dueAt;
    this.active -= 1;
    if (this.active === 0) this.end(now >= this.endAt ? 'time' : 'used-up');
  }
}
