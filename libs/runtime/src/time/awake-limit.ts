import type { Clock, Timer } from './clock.ts';

/** How many steps a limit is divided into. */
const steps = 10;

/**
 * Runs `callback` after `limitMs` during which this process was awake. When a process has stood still, timers run
 * before the answers that wait unread in its sockets, so a plain time-out would take its own pause for the other's
 * silence. Therefore the limit is divided into steps, of which a pause of any length uses up only one. The callback
 * comes one turn after the last step, when everything that had arrived has been read. The timer keeps the process
 * alive.
 */
export function afterAwake(clock: Pick<Clock, 'after'>, limitMs: number, callback: () => void): Disposable {
  const schedule = (stepsLeft: number): Timer =>
    stepsLeft === 0
      ? clock.after(0, callback)
      : clock.after(limitMs / steps, () => {
          timer = schedule(stepsLeft - 1);
        });
  let timer = schedule(steps);
  return { [Symbol.dispose]: () => timer.cancel() };
}
