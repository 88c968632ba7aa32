import { describe, expect, it } from 'vitest';
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

  it('shows what a program wrote that ended too soon', async () => {
    const start = startProcess(program, { environment: { FAIL: 'yes' } });
    await expect(start).rejects.toThrow(/did not become ready\ncan not start/);
  });
});
