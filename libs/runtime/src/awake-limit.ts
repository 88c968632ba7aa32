import type { Clock, Timer } from './clock.ts';

/** Into how many looks a limit is cut. */
const looks = 10;

/**
 * Runs `callback` after `limitMs` in which this process was awake. A process that stood still has answers in its
 * sockets that it has not read yet, and timers run before them: a plain time-out would take its own absence for
 * the other's silence. So the limit is cut into looks, of which a pause of any length takes one, and the callback
 * comes one turn after the last, when all that had arrived was read. The timer keeps the process alive.
 */
export function afterAwake(clock: Pick<Clock, 'after'>, limitMs: number, callback: () => void): Disposable {
  const schedule = (looksLeft: number): Timer =>
    looksLeft === 0
      ? clock.after(0, callback)
      : clock.after(limitMs / looks, () => {
          timer = schedule(looksLeft - 1);
        });
  let timer = schedule(looks);
  return { [Symbol.dispose]: () => timer.cancel() };
}
