import { once } from 'node:events';
import { ask, startSentinel, type Topology } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected, openRedis } from './connection.ts';

describe('a connection that is cut while its sentinels answer', () => {
  let topology: Topology;
  beforeAll(async () => {
    topology = await startSentinel();
  });
  afterAll(() => topology.stop());

  it.each([
    ['one sentinel', ''],
    ['a sentinel that is away, and one that answers', '127.0.0.1:1,'],
  ])('is made again each time, and no sentinel is called unreachable: %s', async (_, away) => {
    const errors: string[] = [];
    const client = openRedis(topology.url.replace('://', `://${away}`), {
      profile: 'worker',
      name: 'process',
      onError: ({ message }) => errors.push(message),
    });
    await connected(client, AbortSignal.timeout(10_000));
    for (let cut = 0; cut < 4; cut += 1) {
      const isBack = once(client, 'ready');
      await ask(topology.nodes[0]?.port ?? 0, 'CLIENT', 'KILL', 'ID', String(await client.client('ID')));
      await isBack;
    }
    expect(await client.ping()).toBe('PONG');
    expect(errors.filter((message) => message.includes('sentinel'))).toEqual([]);
    client.disconnect();
  });
});
