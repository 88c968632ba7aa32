import { execFile } from 'node:child_process';
import { availableParallelism, getPriority } from 'node:os';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { threadOptions } from './background-threads.ts';

const run = promisify(execFile);
const threads = z.array(z.object({ name: z.string(), priority: z.number() }));

const program = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { getPriority } from 'node:os';
  import { yieldToMainThread } from './background-threads.ts';
  yieldToMainThread();
  const folder = '/proc/self/task';
  console.log(JSON.stringify(readdirSync(folder).map((thread) => ({
    name: readFileSync(folder + '/' + thread + '/comm', 'utf8').trim(),
    priority: getPriority(Number(thread)),
  }))));
`;

/** All threads of a process that serves. */
async function runThreads() {
  const words = [...threadOptions, '--input-type=module', '--eval', program];
  const { stdout } = await run(process.execPath, words, { cwd: import.meta.dirname });
  return threads.parse(JSON.parse(stdout));
}

describe.runIf(process.platform === 'linux')('the threads of V8', () => {
  it('have a lower priority, and no other thread has', async () => {
    const found = await runThreads();
    const lowered = found.filter(({ priority }) => priority !== getPriority());
    expect(new Set(lowered.map(({ name }) => name))).toEqual(new Set(['V8Worker']));
    expect(found.filter(({ name }) => name === 'V8Worker')).toEqual(lowered);
    const lower = Math.min(19, getPriority() + 10);
    expect(new Set(lowered.map(({ priority }) => priority))).toEqual(new Set([lower]));
  });

  it('leave a core to the main thread where there are several', async () => {
    const found = await runThreads();
    const expected = Math.max(1, availableParallelism() - 1);
    expect(found.filter(({ name }) => name === 'V8Worker')).toHaveLength(expected);
  });
});
