import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Node's options for a process that serves: as many of V8's threads as Node counts cores beside the main thread's, at
 * least one. The default is four, however few cores there are.
 */
export const threadOptions: readonly string[] = ['--v8-pool-size=0'];

/** The name that Node gives to V8's threads, which compile and collect garbage. */
const nameOfV8 = 'V8Worker';
/**
 * How much lower their priority is, as a nice value. With 19, streams without a gap lost 5 % at full load, where the
 * main thread waits for them to help it collect.
 */
const step = 10;
const lowest = 19;

/**
 * Lets the main thread run before V8's own threads, where both want the same core. Call it once, before a process
 * begins to serve.
 *
 * V8 compiles and marks garbage with several threads at once, for tens of milliseconds. Where they take all the cores,
 * every stream waits behind them. Does nothing where threads have no files in `/proc` or may not be changed.
 */
export function yieldToMainThread(): void {
  try {
    const priority = Math.min(lowest, getPriority() + step);
    for (const thread of readdirSync('/proc/self/task')) {
      const name = readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
      if (name === nameOfV8) setPriority(Number(thread), priority);
    }
  } catch {
    // Another system, or a sandbox. It only costs time.
  }
}
