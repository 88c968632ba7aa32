import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Logger } from '../logging/logger.ts';
import { openTestFolder } from '../test-folder.ts';
import { longestTimerMs } from '../time/clock.ts';
import { ProcessPool } from './process-pool.ts';

const started: ChildProcess[] = [];
/** Ids of processes that ignore SIGTERM. They are killed after each test; one left behind would outlive all tests. */
const deaf: number[] = [];
const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
  vi.unstubAllEnvs();
  vi.useRealTimers();
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const pid of deaf.splice(0).filter(isAlive)) process.kill(pid, 'SIGKILL');
});

const importOf = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
const head = `
  import { createLifecycle } from ${importOf('./lifecycle.ts')};
  import { createLogger } from ${importOf('../logging/logger.ts')};
  const logger = createLogger({ name: 'test', level: 'silent' });
  const lifecycle = createLifecycle({ logger, drainLimitMs: 60_000 });`;

/**
 * A supervisor with one process under it that never ends its drain, however often it is told, and that process's id.
 */
async function startPool(): Promise<{ supervisor: ChildProcess; child: number }> {
  const folder = openTestFolder();
  const entry = join(folder, 'child.mjs');
  const program = join(folder, 'supervisor.mjs');
  writeFileSync(
    entry,
    `setInterval(() => {}, 1_000);
    process.on('SIGTERM', () => process.stdout.write('draining'));
    process.send({ type: 'ready', pid: process.pid, opsPort: 1 });`,
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
  deaf.push(pid);
  return { supervisor, child: pid };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a supervisor that is told twice to stop kills the processes that still drain', async () => {
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

describe('a process of a pool', () => {
  /**
   * A pool of one process, by a clock that the test moves. The process ends as soon as it serves, but in its `stays`-th
   * life, in which it writes its id to a file and heeds no SIGTERM.
   */
  function createPool(stays: number, drainLimitMs = 1_000) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const folder = openTestFolder();
    const entry = join(folder, 'child.mjs');
    const pidFile = join(folder, 'pid');
    writeFileSync(
      entry,
      `import { renameSync, writeFileSync } from 'node:fs';
      const stays = process.env.PID_FILE !== undefined;
      if (stays) {
        process.on('SIGTERM', () => {});
        setInterval(() => {}, 1_000);
        writeFileSync(process.env.PID_FILE + '~', String(process.pid));
        renameSync(process.env.PID_FILE + '~', process.env.PID_FILE);
      }
      process.send({ type: 'ready', pid: process.pid, opsPort: 1 }, () => stays || process.exit(3));`,
    );
    const lives: number[] = [];
    const exits = new EventEmitter();
    const told: number[] = [];
    const pool = new ProcessPool({
      entry,
      environmentOf: (_seat, restarts) => {
        lives.push(restarts);
        return { ...process.env, ...(lives.length === stays && { PID_FILE: pidFile }) };
      },
      drainLimitMs,
      // All that it says.
      logger: {
        error: ({ restartInMs }: { restartInMs: number }) => {
          told.push(restartInMs);
          exits.emit('told');
        },
      } as unknown as Logger,
      onExit: () => exits.emit('exit'),
    });
    return {
      pool,
      lives,
      told,
      exits,
      /** Starts the next process of the seat, and resolves when that has ended as well. */
      next: async () => {
        const ended = once(exits, 'told');
        vi.advanceTimersByTime(told.at(-1) ?? 0);
        await ended;
      },
      /** Resolves to the id of the process that stays. */
      staying: async () => {
        // A poll of the test's would move the clock.
        const watcher = watch(folder);
        while (!existsSync(pidFile)) await once(watcher, 'change');
        watcher.close();
        const pid = Number(readFileSync(pidFile, 'utf8'));
        deaf.push(pid);
        return pid;
      },
    };
  }

  it('is started again at once, and after pauses that grow to five seconds', async () => {
    const { pool, told, lives, exits, next } = createPool(0);
    const first = once(exits, 'told');
    await pool.add();
    await first;
    for (let life = 0; life < 7; life += 1) await next();
    expect(told).toEqual([0, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(lives).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await pool.stop();
    vi.advanceTimersByTime(60_000);
    expect(lives).toHaveLength(8);
  });

  // The system refuses most starts by an event, and some by an exception.
  it.each([
    ['there is no program', () => (process.execPath = join(openTestFolder(), 'missing'))],
    ['its environment is too large', () => vi.stubEnv('TOO_LARGE', 'x'.repeat(3_000_000))],
  ])('that cannot be started again because %s is tried after the same pauses', async (_reason, spoil) => {
    const { pool, told, lives, exits, next } = createPool(0);
    const first = once(exits, 'told');
    await pool.add();
    await first;
    spoil();
    await next();
    await next();
    process.execPath = execPath;
    vi.unstubAllEnvs();
    await next();
    expect(told).toEqual([0, 200, 400, 800]);
    // Of these, two have ended, and two have never begun.
    expect(lives).toEqual([0, 1, 1, 1]);
    await pool.stop();
    vi.advanceTimersByTime(60_000);
    expect(lives).toHaveLength(4);
  });

  it('that cannot be started at first is told to who wants it', async () => {
    for (const spoil of [
      () => (process.execPath = join(openTestFolder(), 'missing')),
      () => vi.stubEnv('TOO_LARGE', 'x'.repeat(3_000_000)),
    ]) {
      spoil();
      const { pool } = createPool(0);
      await expect(pool.add()).rejects.toThrow('spawn');
      await pool.stop();
      process.execPath = execPath;
      vi.unstubAllEnvs();
    }
  });

  it('is restarted without delay after a life of ten seconds, and not after a shorter one', async () => {
    for (const [lifeMs, pauseMs] of [
      [9_999, 400],
      [10_000, 0],
    ] as const) {
      const { pool, told, exits, next, staying } = createPool(3);
      const first = once(exits, 'told');
      await pool.add();
      await first;
      await next();
      vi.advanceTimersByTime(told.at(-1) ?? 0);
      const pid = await staying();
      vi.advanceTimersByTime(lifeMs);
      const ended = once(exits, 'told');
      process.kill(pid, 'SIGKILL');
      await ended;
      expect(told.at(-1)).toBe(pauseMs);
      await pool.stop();
    }
  });

  it('is killed if it has not ended five seconds after its drain limit, and is not replaced', async () => {
    const { pool, lives, told, exits, staying } = createPool(1);
    await pool.add();
    const pid = await staying();
    let hasStopped = false;
    const gone = once(exits, 'exit');
    const stopped = pool.stop().then(() => {
      hasStopped = true;
    });
    vi.advanceTimersByTime(5_999);
    await new Promise(setImmediate);
    expect([hasStopped, isAlive(pid)]).toEqual([false, true]);
    vi.advanceTimersByTime(1);
    await Promise.all([gone, stopped]);
    vi.advanceTimersByTime(60_000);
    expect([lives, told]).toEqual([[0], []]);
  });

  it('has all the time of the longest drain limit that there is', async () => {
    const { pool, staying } = createPool(1, longestTimerMs);
    await pool.add();
    await staying();
    const stopped = pool.stop();
    vi.advanceTimersByTime(longestTimerMs - 1);
    // The time that it has left: what was killed would look alive for another moment.
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    await stopped;
  });
});
