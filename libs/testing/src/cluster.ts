import { findFreePort } from '@sluice/redis';
import { type OwnTestRedis, startOwnRedis } from './redis.ts';
import { type Encryption, encryptionArguments, prepareEncryption } from './redis-certificate.ts';
import { ask, syncAtOnce, type Topology } from './topology.ts';
import { until } from './until.ts';

/** What kind of Cluster to start. */
export interface StartClusterOptions {
  /**
   * Replicas of each of the three masters. Default: 0, with which nobody takes over the slots of a master that dies.
   */
  replicas?: number;
  /** Encrypts all traffic, except on each server's plain port, which is its `port`. Default: false. */
  isEncrypted?: boolean;
}

/** Redis servers that share the slots of a Cluster. */
export interface ClusterTopology extends Topology {
  /** The server that owns this shard's slots now; shards count from 0 to 2. A failover changes it. */
  masterOf(shard: number): Promise<OwnTestRedis>;
  /** Resolves when every server is up and agrees with all others, and every replica follows its master. */
  settled(): Promise<void>;
}

interface Node {
  redis: OwnTestRedis;
  /** The port that clients are told of. */
  clientPort: number;
  busPort: number;
}

const ranges = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
] as const;
/** As our documentation advises operators. The default time-out of 15 s would also make the tests slow. */
const failoverSettings = ['--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no'];
/** On an idle machine, six servers meet within seconds. */
const settleLimitMs = 60_000;
const portAttempts = 5;

/**
 * Starts three masters, which are the first three of `nodes`, and their replicas. Leaves nothing behind if it fails.
 */
export async function startCluster({
  replicas = 0,
  isEncrypted = false,
}: StartClusterOptions = {}): Promise<ClusterTopology> {
  await using stack = new AsyncDisposableStack();
  const nodes: Node[] = [];
  const settings = replicas === 0 ? [] : [...failoverSettings, ...syncAtOnce];
  const encrypt = isEncrypted ? await prepareEncryption(stack) : undefined;
  // One after the other, so that none takes the port that another has just found free.
  for (let count = ranges.length * (1 + replicas); count > 0; count -= 1) {
    const node = await startNode(settings, encrypt);
    stack.use(node.redis);
    nodes.push(node);
  }
  const servers = nodes.map(({ redis }) => redis);
  await introduce(nodes);
  await until(() => doAllKnow(servers), { timeoutMs: settleLimitMs, what: 'the servers to meet' });
  for (const [index, replica] of servers.slice(ranges.length).entries()) {
    const id: string = JSON.parse(await ask(servers[index % ranges.length]?.port ?? 0, 'CLUSTER', 'MYID'));
    await ask(replica.port, 'CLUSTER', 'REPLICATE', id);
  }
  const settled = async (): Promise<void> => {
    await until(() => isSettled(servers), { timeoutMs: settleLimitMs, what: 'the cluster to settle' });
  };
  await settled();
  const running = stack.move();
  const [scheme, host] = isEncrypted ? ['rediss', 'localhost'] : ['redis', '127.0.0.1'];
  return {
    name: replicas === 0 ? 'cluster' : 'cluster with replicas',
    url: `${scheme}+cluster://${nodes.map(({ clientPort }) => `${host}:${clientPort}`).join(',')}`,
    nodes: servers,
    masterOf: (shard) => masterOf(servers, Number(ranges[shard]?.[0])),
    settled,
    stop: () => running.disposeAsync(),
  };
}

async function startNode(
  settings: readonly string[],
  encrypt: (() => Promise<Encryption>) | undefined,
): Promise<Node> {
  for (let attempt = 1; ; attempt += 1) {
    const busPort = await findFreePort();
    const encryption = await encrypt?.();
    try {
      // The default bus port is the client port plus 10,000, which an outgoing connection may be using.
      const ports = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(busPort)];
      const mine = ['--cluster-enabled', 'yes', ...ports, ...encryptionArguments(encryption)];
      const redis = await startOwnRedis({ arguments: [...mine, ...settings] });
      return { redis, clientPort: encryption?.port ?? redis.port, busPort };
    } catch (thrown) {
      // Another process took one of the ports between finding it free and starting the server.
      if (attempt === portAttempts) throw thrown;
    }
  }
}

/** Gives the masters their slots and introduces every server to every other. */
async function introduce(nodes: readonly Node[]): Promise<void> {
  for (const [index, { redis }] of nodes.entries()) {
    const slots = ranges[index];
    if (slots) {
      await ask(redis.port, 'CLUSTER', 'ADDSLOTSRANGE', ...slots);
      await ask(redis.port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    }
    for (const other of nodes.slice(0, index)) {
      await ask(redis.port, 'CLUSTER', 'MEET', '127.0.0.1', String(other.clientPort), String(other.busPort));
    }
  }
}

async function doAllKnow(servers: readonly OwnTestRedis[]): Promise<boolean> {
  for (const { port } of servers) {
    const state = await ask(port, 'CLUSTER', 'INFO');
    if (!state.includes('cluster_state:ok') || !state.includes(`cluster_known_nodes:${servers.length}\\r`))
      return false;
  }
  return true;
}

async function isSettled(servers: readonly OwnTestRedis[]): Promise<boolean> {
  if (!(await doAllKnow(servers))) return false;
  for (const { port } of servers) {
    // If any server takes another one for dead, the cluster is not settled, whatever is true.
    if (/fail|handshake|noaddr/.test(await ask(port, 'CLUSTER', 'NODES'))) return false;
    const replication = await ask(port, 'INFO', 'replication');
    if (replication.includes('role:slave') && !replication.includes('master_link_status:up')) return false;
  }
  return true;
}

async function masterOf(servers: readonly OwnTestRedis[], slot: number): Promise<OwnTestRedis> {
  for (const { port } of servers) {
    const answer = await ask(port, 'CLUSTER', 'SLOTS').catch(() => undefined);
    if (answer === undefined) continue;
    // Redis documents this shape: first slot, last slot, the master as [host, port, …], its replicas.
    const shards = JSON.parse(answer) as [first: number, last: number, master: [string, number]][];
    const owner = shards.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
    const server = servers.find((each) => each.port === owner);
    if (server) return server;
  }
  throw new Error(`no server of the cluster owns slot ${slot}`);
}
