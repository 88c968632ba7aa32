import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startProcess } from './process.ts';
import { until } from './until.ts';

const program = 'libs/testing/fixtures/program.mjs';

describe('startProcess', () => {
  it('resolves with the ready message and keeps what the program writes', async () => {
    await using child = await startProcess(program, {
      environment: { GREETING: 'hello' },
      arguments: ['you'],
    });
    expect(child.ready).toMatchObject({ type: 'ready', role: 'program', port: 1, pid: child.pid });
    await until(() => child.lines.includes('greeting hello you'), { what: 'the first line' });
  });

  it('lets the program end in its own way on stop', async () => {
    const child = await startProcess(program);
    expect(await child.stop()).toEqual({ code: 0, signal: null });
    expect(child.lines).toContain('draining');
  });

  it('ends a program at once on kill', async () => {
    const child = await startProcess(program);
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('lets the program notice that its parent is gone', async () => {
    const child = await startProcess(program);
    child.abandon();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it('starts the program of another checkout there', async () => {
    const checkout = await realpath(await mkdtemp(join(tmpdir(), 'sluice-checkout-')));
    onTestFinished(() => rm(checkout, { recursive: true }));
    await cp(program, join(checkout, 'other.mjs'));
    await using child = await startProcess('other.mjs', { checkout });
    await until(() => child.lines.includes(`runs in ${checkout}`), { what: 'where it runs' });
  });

  it('shows what a program wrote that ended too soon', async () => {
    const start = startProcess(program, { environment: { FAIL: 'yes' } });
    await expect(start).rejects.toThrow(/did not become ready\ncan not start/);
  });
});
