import type { Clock, Timer } from './clock.ts';

/** A look that is taken again and again. */
export interface RegularLook {
  /** Looks now, or waits for the look that is being taken. Never rejects. */
  take(): Promise<void>;
  /** Ends it, and resolves when no look is being taken any more. */
  close(): Promise<void>;
}

/**
 * Takes a look every `everyMs`, one at a time, until it is closed; the first after that time. A failed look changes
 * nothing. The timer does not keep the process alive.
 */
export function lookRegularly(
  clock: Pick<Clock, 'after'>,
  everyMs: number,
  look: () => Promise<void>,
): RegularLook {
  let timer: Timer | undefined;
  let looking: Promise<void> | undefined;
  const take = (): Promise<void> => {
    looking ??= look()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  const schedule = (): void => {
    timer = clock.after(everyMs, () => {
      schedule();
      void take();
    });
    timer.unref();
  };
  schedule();
  return {
    take,
    close: async () => {
      timer?.cancel();
      await looking;
    },
  };
}
