import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openTestFolder } from '../test-folder.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A real process with a real lifecycle; `body` runs before it announces that it is ready. */
async function start(body: string): Promise<ChildProcess> {
  const path = join(openTestFolder(), 'program.mjs');
  const importOf = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  writeFileSync(
    path,
    `import { createLifecycle } from ${importOf('./lifecycle.ts')};
     import { createLogger } from ${importOf('../logging/logger.ts')};
     const lifecycle = createLifecycle({ logger: createLogger({ name: 'child', level: 'silent' }), drainLimitMs: 60_000 });
     setInterval(() => {}, 1_000);
     ${body}
     lifecycle.announceReady({ port: 1 });`,
  );
  const child = fork(path, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  children.push(child);
  expect(await once(child, 'message')).toEqual([{ type: 'ready', port: 1 }, undefined]);
  return child;
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('a process that gets %s ends with 0', async (signal) => {
  const child = await start('');
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('a process that loses its parent ends with 0', async () => {
  const child = await start('');
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('a process with an unhandled rejection drains and ends with 1', async () => {
  const child = await start(`
    lifecycle.onDrain('tell', async () => void process.send('drained'));
    process.on('message', () => void Promise.reject(new Error('lost')));`);
  child.send('break');
  expect(await once(child, 'message')).toEqual(['drained', undefined]);
  expect(await once(child, 'exit')).toEqual([1, null]);
});
