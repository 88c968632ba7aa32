import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/runtime';
import { until } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Child } from './child.ts';

const entry = fileURLToPath(new URL('./fixtures/program.mjs', import.meta.url));
const never = new AbortController().signal;
const children: Child[] = [];

function createChild(behaviour = '') {
  const said: string[] = [];
  const child = new Child({
    name: 'worker 1',
    entry,
    environment: { PATH: process.env.PATH, BEHAVIOUR: behaviour },
    clock: systemClock,
    say: (sentence) => said.push(sentence),
  });
  children.push(child);
  return { child, said };
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

describe('Child', () => {
  it('resolves with what the program says when it serves', async () => {
    const { child } = createChild();
    expect(await child.start(never)).toMatchObject({ type: 'ready', opsPort: 4711 });
  });

  it('rejects with the exit code when the program ends before it serves', async () => {
    const { child } = createChild('broken');
    await expect(child.start(never)).rejects.toThrow('worker 1 ended before it served (code 7)');
  });

  it('starts a program again that was killed, and says so', async () => {
    const { child, said } = createChild();
    const { pid } = await child.start(never);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => said).toHaveLength(2);
    expect(said[0]).toBe('worker 1 ended (SIGKILL), starting it again in 250 ms');
    expect(said[1]).toMatch(/^worker 1 serves again \(process \d+\)$/);
  });

  it('does not start a program again that it stopped', async () => {
    const { child, said } = createChild();
    const { pid } = await child.start(never);
    await child.stop(5_000);
    expect(isAlive(pid)).toBe(false);
    expect(said).toEqual([]);
  });

  it('kills a program that does not drain within the limit, and all under it', async () => {
    const { child } = createChild('stubborn');
    const { pid, workers = [] } = await child.start(never);
    expect(workers).toHaveLength(1);
    await child.stop(20);
    expect(isAlive(pid)).toBe(false);
    await areGone(workers);
  });

  it('leaves nothing of a program that it kills at once', async () => {
    const { child } = createChild('stubborn');
    const { pid, workers = [] } = await child.start(never);
    child.kill();
    await areGone([{ pid }, ...workers]);
  });

  it('gives up a start that is interrupted', async () => {
    const { child } = createChild();
    await expect(child.start(AbortSignal.abort())).rejects.toThrow();
  });
});

/** Those whose parent has gone before them are taken for alive until process 1 looks after them. */
async function areGone(processes: readonly { pid: number }[]): Promise<void> {
  await until(() => !processes.some(({ pid }) => isAlive(pid)), { timeoutMs: 15_000 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
