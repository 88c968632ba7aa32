import { ask, startCluster, startRedis, type TestRedis } from '@sluice/testing';
import { Cluster, Redis } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Connections } from '../transport-suite.ts';
import { checkRedis } from './redis-policy.ts';

const connections = new Connections();
let server: TestRedis | undefined;
afterEach(async () => {
  connections.close();
  await server?.stop();
});

const check = async (...args: string[]): Promise<void> => {
  server = await startRedis({ arguments: args });
  await checkRedis(await connections.connect(server.url, 'command'));
};

/** One that says that it is of this version. */
function serverOf(version: string): Redis {
  const client = new Redis({ lazyConnect: true });
  vi.spyOn(client, 'info').mockImplementation(
    async () => `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`,
  );
  return client;
}

describe('a Redis', () => {
  it('that keeps what it was given is fine', async () => {
    await expect(check('--maxmemory', '50mb', '--maxmemory-policy', 'noeviction')).resolves.toBeUndefined();
  });

  it.each(['allkeys-lru', 'volatile-ttl'])(
    'that evicts is refused with the setting to change (%s)',
    async (policy) => {
      await expect(check('--maxmemory', '50mb', '--maxmemory-policy', policy)).rejects.toMatchObject({
        kind: 'unavailable',
        message: `Redis has maxmemory-policy ${policy}, which deletes queued requests when memory is full: set it to noeviction`,
      });
    },
  );

  it.each([
    ['5.0.14', false],
    ['6.0.20', false],
    ['6.2.0', true],
    ['7.0.15', true],
    ['10.1.0', true],
  ])('of version %s is new enough: %s', async (version, isFine) => {
    const outcome = checkRedis(serverOf(version));
    if (isFine) await outcome;
    else await expect(outcome).rejects.toThrow(`Redis ${version} is too old: 6.2 or newer is needed`);
  });

  it('that is a cluster has sharded pub/sub on each of its masters', async () => {
    const cluster = new Cluster([], { lazyConnect: true });
    const masters = vi.spyOn(cluster, 'nodes');
    masters.mockReturnValue([serverOf('7.0.0'), serverOf('8.2.3')]);
    await checkRedis(cluster);
    masters.mockReturnValue([serverOf('7.0.0'), serverOf('6.2.14')]);
    await expect(checkRedis(cluster)).rejects.toThrow(
      'Redis 6.2.14 is too old: 7.0 or newer is needed of a cluster',
    );
  });

  it('that is one of several masters of a cluster is refused where it is named like a single server', async () => {
    const cluster = await startCluster();
    for (const { url } of cluster.nodes) {
      await expect(connections.connect(url, 'command').then(checkRedis)).rejects.toThrow(
        'Redis is one of 3 masters of a cluster, whose URL starts with redis+cluster://',
      );
    }
    await connections.connect(cluster.url, 'command').then(checkRedis);
    connections.close();
    await cluster.stop();
  });

  it('that is the only master of a cluster may be named like a single server', async () => {
    server = await startRedis({ arguments: ['--cluster-enabled', 'yes'] });
    await ask(server.port, 'CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await connections.connect(server.url, 'command').then(checkRedis);
  });
});
