import { SluiceError } from '@sluice/canonical';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './connection.ts';

const oldestVersion = [6, 2] as const;
/** The first version with sharded pub/sub. */
const oldestOfCluster = [7, 0] as const;

/**
 * Refuses a Redis that we cannot work with: an eviction policy deletes queued jobs when memory is full, old servers lack
 * commands that we use, and one of several masters takes only some keys. Throws `unavailable` with a sentence for the
 * operator.
 */
export async function checkRedis(redis: RedisClient): Promise<void> {
  const isCluster = redis instanceof Cluster;
  const nodes = isCluster ? redis.nodes('master') : [redis];
  const [oldestMajor, oldestMinor] = isCluster ? oldestOfCluster : oldestVersion;
  for (const node of nodes) {
    const [server, memory] = await Promise.all([node.info('server'), node.info('memory')]);
    const policy = evictionIn(memory);
    if (policy !== undefined) {
      throw new SluiceError(
        'unavailable',
        `Redis has maxmemory-policy ${policy}, which deletes queued requests when memory is full: set it to noeviction`,
      );
    }
    const version = fieldOf(server, 'redis_version') ?? '';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
      const needed = `${oldestMajor}.${oldestMinor} or newer is needed${isCluster ? ' of a cluster' : ''}`;
      throw new SluiceError('unavailable', `Redis ${version} is too old: ${needed}`);
    }
    if (!isCluster && major >= oldestOfCluster[0] && fieldOf(server, 'redis_mode') === 'cluster') {
      await refuseOneOfSeveral(node);
    }
  }
}

/**
 * Refuses a master of a cluster that was named like a single server, unless it is the only one: it takes some keys and
 * answers MOVED for the others. Which ones a process meets first depends on their slots, so it might serve for a while.
 */
async function refuseOneOfSeveral(node: Redis): Promise<void> {
  const masters = Number(fieldOf(String(await node.cluster('INFO')), 'cluster_size'));
  if (masters <= 1) return;
  const sentence = `Redis is one of ${masters} masters of a cluster, whose URL starts with redis+cluster://`;
  throw new SluiceError('unavailable', sentence);
}

/** The eviction policy in the text of `INFO memory`; absent if the server evicts nothing. */
export function evictionIn(info: string): string | undefined {
  const policy = fieldOf(info, 'maxmemory_policy');
  return policy === 'noeviction' ? undefined : policy;
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
