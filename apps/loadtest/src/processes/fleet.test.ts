import type { ChildProcess, ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHostClock } from '../clock.ts';
import type { RunResult } from '../measures/result.ts';
import { runScenario } from '../run.ts';
import { parseScenario } from '../scenario/scenario.ts';
import { readScenarioFiles } from '../scenario/scenario-files.ts';
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

/** Two processes that begin 40 requests; at the `at`th one `happens`. */
async function run(at: number, happens: () => void): Promise<RunResult> {
  let requests = 0;
  const onRequest = () => {
    requests += 1;
    if (requests === at) happens();
  };
  const { server } = createFakeUpstream({ clock: createHostClock(), random: () => 0, onRequest });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const scenario = parseScenario({
    target: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
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
      for (const child of children) for (const signal of ['SIGTERM', 'SIGINT'] as const) child.kill(signal);
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
