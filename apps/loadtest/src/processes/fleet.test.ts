import type { ChildProcess, ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHostClock } from '../clock.ts';
import type { RunResult } from '../measures/result.ts';
import { runScenario } from '../run.ts';
import { parseScenario } from '../scenario/scenario.ts';
import { readScenarioFiles } from '../scenario/scenario-files.ts';
import { listenAnywhere } from '../test-address.ts';
import { createFakeUpstream } from '../upstream/server.ts';

const children = vi.hoisted((): ChildProcess[] => []);
vi.mock('node:child_process', async (original) => {
  const real = await original<typeof import('node:child_process')>();
  const fork = (path: URL, options: ForkOptions) => {
    const child = real.fork(path, options);
    children.push(child);
    return child;
  };
  return { ...real, fork };
});

const servers: Server[] = [];
afterEach(() => {
  children.length = 0;
  for (const server of servers.splice(0)) server.close();
});

function listen(server: Server): Promise<string> {
  servers.push(server);
  return listenAnywhere(server);
}

/** Two processes that begin 40 requests; at the `at`th one `happens`. */
async function run(at: number, happens: () => void): Promise<RunResult> {
  let requests = 0;
  const onRequest = () => {
    requests += 1;
    if (requests === at) happens();
  };
  const { server } = createFakeUpstream({ clock: createHostClock(), random: () => 0, onRequest });
  const scenario = parseScenario({
    target: await listen(server),
    processes: 2,
    requests: 40,
    load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 100 } },
    traffic: [{ model: 'paced-n2' }],
  });
  const files = await readScenarioFiles(scenario);
  return runScenario(scenario, { files, signal: new AbortController().signal });
}

describe('a fleet of client processes', () => {
  it('leaves signals to its parent, who hears them too', async () => {
    const result = await run(10, () => {
      // No interrupt of a terminal reaches whoever leads a group.
      for (const { pid = 0 } of children) process.kill(-pid, 0);
      for (const child of children)
        for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) child.kill(signal);
    });
    expect(result.totals).toMatchObject({ offered: 40, ok: 40 });
  });

  it('keeps what the others measured when one of them dies', async () => {
    const result = await run(10, () => children[1]?.kill('SIGKILL'));
    expect(result.totals).toMatchObject({ offered: 20, ok: 20 });
    expect(result.client.isBottleneck).toBe(true);
    expect(result.client.findings).toContain(
      'client process 2 of 2: a client process ended early; what it measured is lost',
    );
  });

  it('shows the seconds of those who still run when one has ended', async () => {
    let requests = 0;
    const shown = Promise.withResolvers<void>();
    const target = await listen(
      createServer((_, response) => {
        const body = JSON.stringify({ choices: [{ message: { content: 'x' } }] });
        const end = () => response.setHeader('content-type', 'application/json').end(body);
        // The other process has its answer, and ends, before this one gets its own.
        requests += 1;
        if (requests === 2) void shown.promise.then(end);
        else end();
      }),
    );
    const scenario = parseScenario({
      target,
      processes: 2,
      requests: 2,
      graceMs: '5s',
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 100 } },
      traffic: [{ streamShare: 0 }],
    });
    const seconds: number[] = [];
    const result = await runScenario(scenario, {
      files: await readScenarioFiles(scenario),
      signal: new AbortController().signal,
      onInterval: ({ second }) => {
        seconds.push(second);
        if (second > 0) shown.resolve();
      },
    });
    expect(result.totals).toMatchObject({ ok: 2, failed: 0 });
    expect(result.intervals.map(({ second }) => second)).toEqual(seconds);
    expect(new Set(seconds).size).toBe(seconds.length);
  });

  it('fails when all of them die', async () => {
    const all = run(10, () => {
      for (const child of children) child.kill('SIGKILL');
    });
    await expect(all).rejects.toThrow('ended early');
  });

  it('ends in silence when its parent is gone', async () => {
    const ended: Promise<unknown[]>[] = [];
    const all = run(10, () => {
      for (const child of children) {
        ended.push(once(child, 'exit'));
        child.disconnect();
      }
    });
    await expect(all).rejects.toThrow('ended early');
    expect(await Promise.all(ended)).toEqual([
      [0, null],
      [0, null],
    ]);
  });
});
