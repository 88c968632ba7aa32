import { Cluster } from 'ioredis';
import { channelScope } from '../bus.ts';
import { replyChannel } from '../names.ts';
import type { RedisClient } from '../redis/connection.ts';
import { encodeBatch } from '../replies/frame.ts';

/** What the script that claims jobs needs, to tell their ingresses who has them: scripts/claim.lua. */
export interface ClaimNotice {
  /** What stands before the id of an ingress in the name of its reply channel. */
  readonly beforeIngress: string;
  /** What stands after it. */
  readonly afterIngress: string;
  /** A reply batch of the worker, without what it tells and without its end. */
  readonly head: string;
}

/**
 * The notice of a worker. Absent for a cluster, where a script may only publish on channels of its own slot: there a
 * worker has to announce its claims itself.
 */
export function claimNotice(redis: RedisClient, worker: string): ClaimNotice | undefined {
  if (redis instanceof Cluster) return undefined;
  return {
    beforeIngress: replyChannel(''),
    afterIngress: channelScope(redis),
    head: encodeBatch({ worker }).slice(0, -1),
  };
}
