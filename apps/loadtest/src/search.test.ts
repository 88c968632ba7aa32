import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { createHostClock } from './clock.ts';
import type { SearchPoint } from './result.ts';
import { parseScenario } from './scenario.ts';
import { searchSaturation } from './search.ts';
import { createFakeUpstream } from './upstream/server.ts';

const { server } = createFakeUpstream({ clock: createHostClock(), random: () => 0 });

afterEach(() => server.close());

async function target(): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

describe('a search that is interrupted', () => {
  it('reports the loads that it has tried, not the one that was cut off', async () => {
    const stopping = new AbortController();
    const points: SearchPoint[] = [];
    let loads = 0;
    let requests = 0;
    server.on('request', () => {
      requests += 1;
      if (requests === 18) stopping.abort();
    });
    const scenario = parseScenario({
      target: await target(),
      requests: 10,
      load: { kind: 'open', spacing: 'constant', profile: { kind: 'constant', rate: 1 } },
      traffic: [{ model: 'paced-n1', streamShare: 0 }],
      search: { fromRate: 20, settleMs: '0' },
    });
    const result = await searchSaturation(scenario, {
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
