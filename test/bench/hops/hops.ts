import { startOwnRedis } from '@sluice/testing';
import { repository } from '../../support/repository.ts';
import type { Contender } from '../contenders/contender.ts';
import type { RedisWay } from '../contenders/gateway.ts';
import { startProgram } from '../contenders/program.ts';

/**
 * The way of a token through the gateway without the gateway: two processes of Node and a Redis that pass bytes on, by
 * the same connections and in the same batches. Nothing is authenticated, admitted, queued, parsed, translated, kept or
 * repaired. What it costs is what the way costs; no gateway with these hops on this machine can be cheaper.
 */
export async function startHops(upstream: string, redisWay: RedisWay): Promise<Contender> {
  const redis = await startOwnRedis({ socket: redisWay !== 'tcp' });
  const environment = { HOPS_REDIS_URL: redis.url, HOPS_UPSTREAM: upstream };
  const start = (name: string) =>
    startProgram({ root: repository, entry: `test/bench/hops/${name}.ts`, environment });
  const [ingress, worker] = await Promise.all([start('ingress'), start('worker')]);
  return {
    kind: 'other',
    name: 'hops',
    url: `http://127.0.0.1:${ingress.ready.port}`,
    roles: [
      ...ingress.processes.map(({ pid }) => ({ role: 'ingress', pid })),
      ...worker.processes.map(({ pid }) => ({ role: 'worker', pid })),
      { role: 'redis', pid: redis.pid },
    ],
    async stop() {
      await ingress.stop();
      await worker.stop();
      await redis.stop();
    },
  };
}
