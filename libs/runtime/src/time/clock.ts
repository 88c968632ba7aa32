/** The source of time. Everything that waits or measures takes a clock, so that tests control the time. */
export interface Clock {
  /** Epoch milliseconds; may jump when the host's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary origin, with fractions; never goes back. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`. The timer keeps the process alive unless `unref` was called. */
  after(delayMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** A pending callback. `cancel` may be called at any time, more than once, and by `using`. */
export interface Timer extends Disposable {
  cancel(): void;
  unref(): void;
}

/** The longest time that a timer of Node waits, about 24 days. For more, it would fire at once. */
export const longestTimerMs = 2_147_483_647;

/** The host's clock. Its timers wait for `longestTimerMs` at most, also where a sum of settings is longer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timeout = setTimeout(callback, Math.min(delayMs, longestTimerMs));
    const cancel = () => clearTimeout(timeout);
    return { cancel, unref: () => void timeout.unref(), [Symbol.dispose]: cancel };
  },
  sleep(delayMs, signal) {
    return sleepOn(this, delayMs, signal);
  },
};

/**
 * Epoch milliseconds, counted on from the start of the process. Steps of the host's clock are not followed, because
 * they would end or put off everything that has a deadline. Use it only for durations between two calls.
 */
export function steadyNow(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}

/** `Clock.sleep` on top of `Clock.after`. */
export function sleepOn(clock: Pick<Clock, 'after'>, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
