import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

const importOf = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
const head = `
  import { createLifecycle } from ${importOf('./lifecycle.ts')};
  import { createLogger } from ${importOf('./logger.ts')};
  const logger = createLogger({ name: 'test', level: 'silent' });
  const lifecycle = createLifecycle({ logger, drainLimitMs: 60_000 });`;

/** A supervisor with one process under it that never ends its drain, and that process's id. */
async function startPool(): Promise<{ supervisor: ChildProcess; child: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'process-pool-'));
  const entry = join(folder, 'child.mjs');
  const program = join(folder, 'supervisor.mjs');
  writeFileSync(
    entry,
    `${head}
    setInterval(() => {}, 1_000);
    lifecycle.onDrain('for ever', () => new Promise(() => process.stdout.write('draining')));
    lifecycle.announceReady({ pid: process.pid, opsPort: 1 });`,
  );
  writeFileSync(
    program,
    `${head}
    import { ProcessPool } from ${importOf('./process-pool.ts')};
    const pool = new ProcessPool({
      entry: ${JSON.stringify(entry)}, environmentOf: () => process.env, drainLimitMs: 60_000, logger,
    });
    lifecycle.onDrain('processes', () => pool.stop());
    lifecycle.announceReady(await pool.add());`,
  );
  const supervisor = fork(program, { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  started.push(supervisor);
  // What `announceReady` sends.
  const [{ pid }] = (await once(supervisor, 'message')) as [{ pid: number }];
  return { supervisor, child: pid };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a supervisor that is told twice to go takes those along that still drain', async () => {
  const { supervisor, child } = await startPool();
  const drains = once(supervisor.stdout ?? supervisor, 'data');
  supervisor.kill('SIGTERM');
  await drains;
  expect(isAlive(child)).toBe(true);
  const ended = once(supervisor, 'exit');
  // The first of them come too soon to be another wish.
  const impatience = setInterval(() => supervisor.kill('SIGTERM'), 100);
  expect(await ended).toEqual([1, null]);
  clearInterval(impatience);
  await expect.poll(() => isAlive(child)).toBe(false);
});
