import { ask, type OwnTestRedis, startCluster, startSentinel, type Topology, until } from '@sluice/testing';
import { formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { isComplete } from './checker/check-answers.ts';
import { type Entrance, openStreams, plainPlan, send } from './figures/scenario.ts';
import type { Observation } from './observation.ts';
import { tenantName } from './plan.ts';

/** What the death of a master did to open streams and to new requests. */
export interface Failover {
  /** Streams that were open when the master died. */
  readonly streams: readonly Observation[];
  /** Time from the kill until a request that was sent after it has its whole answer. */
  readonly servedAfterMs: number;
  /** The longest silence of any stream after the kill. */
  readonly longestPauseMs: number;
}

/** A gateway on a Redis whose masters have replicas. */
export interface FailoverBench {
  /**
   * Kills a master while so many streams are open. The master killed by the previous call is back by then, as a
   * replica.
   */
  failOver(streams: number): Promise<Failover>;
  stop(): Promise<void>;
}

/** Long enough for a sentinel that was short of CPU, which refuses to act for half a minute. */
const patienceMs = 90_000;
/** The deadline of every request: each ends by then whatever happens, so no test waits for ever. */
const deadlineMs = 60_000;
const streamTokens = 300;

/**
 * A master, its replica and a sentinel; each failover makes the replica the next master. With a short `downAfterMs`,
 * the sentinel takes a pause of the whole machine for a dead master.
 */
export async function startSentinelBench({ downAfterMs = 500 } = {}): Promise<FailoverBench> {
  await using stack = new AsyncDisposableStack();
  const sentinel = await startSentinel({ downAfterMs });
  stack.defer(() => sentinel.stop());
  const gateway = await startGatewayOn(sentinel);
  stack.defer(() => gateway.stop());
  const running = stack.move();
  let killed: OwnTestRedis | undefined;
  const bringBack = async (old: OwnTestRedis): Promise<void> => {
    await old.up();
    await until(() => isReplica(old), {
      timeoutMs: patienceMs,
      what: 'the sentinel to make the old master a replica',
    });
  };
  return {
    failOver: async (streams) => {
      if (killed) await bringBack(killed);
      [killed] = await mastersOf(sentinel.nodes);
      if (!killed) throw new Error('no server is a master');
      return killUnderStreams(gateway, killed, streams);
    },
    stop: () => running.disposeAsync(),
  };
}

/** Three masters with a replica each; each failover hits the next of the three shards. */
export async function startClusterBench(): Promise<FailoverBench> {
  await using stack = new AsyncDisposableStack();
  const cluster = await startCluster({ replicas: 1 });
  stack.defer(() => cluster.stop());
  const gateway = await startGatewayOn(cluster);
  stack.defer(() => gateway.stop());
  const running = stack.move();
  let killed: OwnTestRedis | undefined;
  let round = 0;
  return {
    failOver: async (streams) => {
      await killed?.up();
      await cluster.settled();
      killed = await cluster.masterOf(round % 3);
      round += 1;
      return killUnderStreams(gateway, killed, streams);
    },
    stop: () => running.disposeAsync(),
  };
}

/** Starts a gateway with two workers on a topology. Stopping the gateway leaves the topology running. */
export function startGatewayOn({ nodes, url }: Topology): Promise<Gateway> {
  const [first] = nodes;
  if (!first) throw new TypeError('a topology has nodes');
  const { port, prefix } = first;
  const stop = async (): Promise<void> => undefined;
  const environment = { SLUICE_REQUEST_TIMEOUT_MS: String(deadlineMs) };
  return startGateway({
    workers: 2,
    environment,
    redis: { url, port, prefix, stop, [Symbol.asyncDispose]: stop },
  });
}

export function entranceOf({ baseUrl, apiKey }: Gateway): Entrance {
  const port = Number(new URL(baseUrl).port);
  return {
    ingresses: [{ clientProxy: { port } }],
    apiKeys: new Map([[tenantName(0), apiKey]]),
    deadlineMs,
  };
}

/** Resolves to the milliseconds until a new request has its whole answer. */
export async function servedAfter(entrance: Entrance): Promise<number> {
  const askedAt = performance.now();
  const isServed = async (): Promise<boolean> =>
    isComplete(await send(entrance, plainPlan(0, { tokens: 3, gapMs: 1 })));
  await until(isServed, { timeoutMs: patienceMs, what: 'a new request to be served' });
  return performance.now() - askedAt;
}

async function killUnderStreams(gateway: Gateway, master: OwnTestRedis, streams: number): Promise<Failover> {
  const entrance = entranceOf(gateway);
  const plans = Array.from({ length: streams }, (_, index) =>
    plainPlan(index, { format: formats[index % 3] ?? 'openai', tokens: streamTokens }),
  );
  const { ended } = await openStreams(entrance, plans);
  const killedAt = Date.now();
  await master.down();
  const servedAfterMs = await servedAfter(entrance);
  const observations = await ended;
  return {
    streams: observations,
    servedAfterMs,
    longestPauseMs: Math.max(...observations.map((stream) => longestPause(stream, killedAt))),
  };
}

function longestPause({ arrivedAt, endedAt }: Observation, from: number): number {
  const instants = [from, ...arrivedAt.filter((at) => at > from), Math.max(from, endedAt)];
  return Math.max(...instants.map((at, index) => at - (instants[index - 1] ?? at)));
}

async function isReplica({ port }: OwnTestRedis): Promise<boolean> {
  const replication = await ask(port, 'INFO', 'replication');
  return replication.includes('role:slave') && replication.includes('master_link_status:up');
}

async function mastersOf(servers: readonly OwnTestRedis[]): Promise<OwnTestRedis[]> {
  const roles = await Promise.all(servers.map(({ port }) => ask(port, 'ROLE')));
  return servers.filter((_, index) => roles[index]?.startsWith('["master"'));
}
