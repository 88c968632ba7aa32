import { ask, startSentinel, type Topology } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected, openRedis } from './connection.ts';
import { refusalOf } from './test-refusal.ts';

describe('sentinels that want a password of their own', () => {
  let topology: Topology;
  beforeAll(async () => {
    topology = await startSentinel();
    const port = Number(new URL(topology.url).port);
    await ask(port, 'ACL', 'SETUSER', 'ops', 'on', '>p@ss', '~*', '&*', '+@all');
    await ask(port, 'ACL', 'SETUSER', 'default', 'resetpass', '>hush');
  });
  afterAll(() => topology.stop());

  it.each(['sentinelPassword=hush', 'sentinelUsername=ops&sentinelPassword=p%40ss'])(
    'are told it: %s',
    async (query) => {
      const client = openRedis(`${topology.url}?${query}`, {
        profile: 'worker',
        name: 'process',
        onError: () => undefined,
      });
      await connected(client, AbortSignal.timeout(10_000));
      expect(await client.ping()).toBe('PONG');
      client.disconnect();
    },
  );

  it.each([
    ['', /no sentinel is reachable: NOAUTH, it wants .* as in \/GROUP\?sentinelPassword=PASSWORD$/],
    ['?sentinelPassword=wrong', /no sentinel is reachable: WRONGPASS, it refuses the user or the password$/],
  ])('refuse who does not know it, and that is said: %s', async (query, reason) => {
    const refusal = await refusalOf(`${topology.url}${query}`);
    expect(refusal).toMatch(reason);
    expect(refusal).not.toMatch(/hush|wrong/);
  });
});
