import { execFile } from 'node:child_process';
import { getPriority } from 'node:os';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const threads = z.array(z.object({ name: z.string(), priority: z.number() }));

it.runIf(process.platform === 'linux')(
  'lowers the priority of the threads of V8 and of no other',
  async () => {
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
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: import.meta.dirname,
    });
    const found = threads.parse(JSON.parse(stdout));
    const lowered = found.filter(({ priority }) => priority !== getPriority());
    expect(new Set(lowered.map(({ name }) => name))).toEqual(new Set(['V8Worker']));
    expect(found.filter(({ name }) => name === 'V8Worker')).toEqual(lowered);
    expect(new Set(lowered.map(({ priority }) => priority))).toEqual(
      new Set([Math.min(19, getPriority() + 10)]),
    );
  },
);
