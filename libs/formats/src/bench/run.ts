import { formats } from '../registry.ts';
import { measure, measureGarbage } from './measure.ts';
import { createTasks } from './tasks.ts';

/*
 * Measures the codecs of its own tree and prints one line of JSON: rates and garbage by name. The command runs it in a
 * separate process, in this tree and in that of the commit to compare with.
 */

const rates: Record<string, number> = {};
const garbage: Record<string, number> = {};
for (const format of formats) {
  for (const task of createTasks(format)) {
    rates[task.name] = measure(task, { rounds: 4, roundMs: 120, now: () => performance.now() });
    const bytes = measureGarbage(task, globalThis.gc);
    if (bytes !== undefined) garbage[task.name] = Math.round(bytes);
  }
}
process.stdout.write(`${JSON.stringify({ rates, garbage })}\n`);
