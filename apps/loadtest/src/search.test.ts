import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createHostClock } from './clock.ts';
import type { RunResult, SearchPoint } from './measures/result.ts';
import { summarizeRun } from './measures/summary.ts';
import { parseScenario, type Scenario, type ScenarioInput } from './scenario/scenario.ts';
import { readScenarioFiles } from './scenario/scenario-files.ts';
import { searchSaturation } from './search.ts';
import { createFakeUpstream, type UpstreamOptions } from './upstream/server.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** The address of a fake upstream. */
async function listen(options: Partial<UpstreamOptions> = {}): Promise<string> {
  const { server } = createFakeUpstream({ clock: createHostClock(), random: () => 0, ...options });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return addressOf(server);
}

function addressOf(server: Server): string {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return `http://127.0.0.1:${port}`;
}

/** A search to its end. */
async function search(scenario: Scenario): Promise<RunResult> {
  const files = await readScenarioFiles(scenario);
  return searchSaturation(scenario, { files, signal: new AbortController().signal });
}

describe('a search that is interrupted', () => {
  it('reports the loads that it has tried, not the one that was cut off', async () => {
    const stopping = new AbortController();
    const points: SearchPoint[] = [];
    let loads = 0;
    let requests = 0;
    const target = await listen({
      onRequest: () => {
        requests += 1;
        if (requests === 18) stopping.abort();
      },
    });
    const scenario = parseScenario({
      target,
      requests: 10,
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ model: 'paced-n1', streamShare: 0 }],
      search: { fromRate: 20, settleMs: '0' },
    });
    const result = await searchSaturation(scenario, {
      files: await readScenarioFiles(scenario),
      signal: stopping.signal,
      onLoad: () => {
        loads += 1;
      },
      onPoint: (point) => points.push(point),
    });
    expect(loads).toBe(2);
    expect(points).toHaveLength(1);
    expect(result.search?.points).toEqual(points);
    expect(result.isInterrupted).toBe(true);
    expect(result.client.findings.join()).toContain('interrupted: the search had not ended');
  });
});

describe('the loads of a search', () => {
  it('differ in their arrivals and prompts, so that no draw decides alone', async () => {
    const bodies: string[] = [];
    const target = await listen({ onRequest: (body) => bodies.push(body) });
    const scenario = parseScenario({
      target,
      requests: 3,
      load: { kind: 'open', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ model: 'paced-n1', streamShare: 0 }],
      search: { fromRate: 100, maxRate: 200, beyond: [], settleMs: '0' },
    });
    const { client } = await search(scenario);
    expect(bodies.length).toBeGreaterThanOrEqual(6);
    expect(new Set(bodies).size).toBe(bodies.length);
    expect(client.findings.join()).toContain('every load up to 200/s met the objective');
  });

  it('leave the found rate in doubt where a load past it met the objective as well', async () => {
    const target = await listen();
    const scenario = parseScenario({
      target,
      requests: 5,
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ model: 'paced-n1', streamShare: 0 }],
      search: { fromRate: 100, maxRate: 200, beyond: [1.5, 2], settleMs: '0' },
    });
    const result = await search(scenario);
    const findings = result.client.findings.join();
    expect(findings).toContain('every load up to 200/s met the objective; the search tried no higher one');
    expect(findings).toContain('past the rate that the search found, 300/s, 400/s met the objective as well');
    expect(summarizeRun(result)).toContain(
      '200/s is the rate that the search found, not the highest that met: ',
    );
  });

  it('leave no doubt of the server where the client kept them from being met', async () => {
    let requests = 0;
    // The first load is served well, all others are not.
    const target = await listen({
      random: () => (requests > 10 ? 0 : 0.99),
      onRequest: () => {
        requests += 1;
      },
    });
    const scenario = parseScenario({
      target,
      requests: 10,
      // All that is due waits for one connection.
      maxConnections: 1,
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ model: 'paced-t20-n1-e503-p50', streamShare: 0 }],
      search: { fromRate: 1000, beyond: [], precision: 0.5, settleMs: '0' },
    });
    const { client, search: found } = await search(scenario);
    expect(found?.saturationRate).toBeGreaterThan(0);
    expect(client.isBottleneck).toBe(true);
    expect(client.findings[0]).toContain(
      'the next higher load was missed with the client itself at its limit',
    );
    expect(client.findings.join()).toContain('waited for one of the 1 connections');
    expect(client.findings.join()).toMatch(
      /at \d+\/s.* the client was itself the bottleneck: what these loads/,
    );
  });
});

describe('a load that meets the objective only as long as it lasts', () => {
  it('is not the rate that a search finds', async () => {
    // An answer every 8 ms: those who come at 200/s for 2 s have theirs within 4 s.
    let freeAt = 0;
    const server = createServer((request, response) => {
      request.resume();
      freeAt = Math.max(freeAt, performance.now()) + 8;
      const answer = JSON.stringify({ choices: [{ message: { content: 'a' } }] });
      setTimeout(() => response.end(answer), freeAt - performance.now());
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const scenario = parseScenario({
      target: addressOf(server),
      durationMs: '2s',
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ streamShare: 0 }],
      slo: { endToEndMs: '10s' },
      search: { fromRate: 200, maxRate: 200, beyond: [], precision: 0.5, settleMs: '0' },
    });
    const result = await search(scenario);
    expect(result.meetsSlo).toBe(true);
    expect(result.search?.saturationRate).toBeLessThan(150);
    const point = result.search?.points.find(({ offeredRate }) => offeredRate > 190);
    expect(point).toMatchObject({ phase: 'search', meetsSlo: true, fallsBehind: true });
    expect(result.client.findings.join()).toMatch(/at .*200\/s.* the server fell behind: not counted as met/);
  }, 30_000);
});

describe('a search that finds nothing', () => {
  async function searchIn(input: ScenarioInput) {
    const target = await listen();
    const profile = { kind: 'constant' as const, rate: 1 };
    const load = { kind: 'open' as const, spacing: 'constant' as const, profile };
    const scenario = parseScenario({ target, load, ...input });
    const { search: result, errors } = await search(scenario);
    return { rates: result?.points.length, found: result?.saturationRate, errors: Object.keys(errors) };
  }

  it('ends with the first load where none could do, and says why', async () => {
    const traffic = [{ model: 'paced-e401' }];
    const found = await searchIn({ traffic, requests: 1, search: { fromRate: 1000, settleMs: '0' } });
    expect(found).toEqual({ rates: 1, found: 0, errors: ['http 401 invalid_request_error'] });
  });

  it('tries less of what may be too much', async () => {
    const traffic = [{ model: 'paced-e503' }];
    const found = await searchIn({ traffic, requests: 1, search: { fromRate: 1000, settleMs: '0' } });
    expect(found).toMatchObject({ rates: 8, found: 0 });
  });

  it('ends with a load of which no request is due, and tells of one that had some', async () => {
    const traffic = [{ model: 'paced-e503' }];
    const found = await searchIn({ traffic, durationMs: '50', search: { fromRate: 100, settleMs: '0' } });
    expect(found.rates).toBeLessThan(8);
    expect(found.errors[0]).toContain('http 503');
  });
});
