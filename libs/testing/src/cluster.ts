import { findFreePort } from '@sluice/redis';
import { type OwnTestRedis, startOwnRedis } from './redis.ts';
import { type Encryption, encryptionArguments, prepareEncryption } from './redis-certificate.ts';
import { ask, syncAtOnce, type Topology } from './topology.ts';
import { until } from './until.ts';

export interface StartClusterOptions {
  /** Replicas of each of the three masters. Default: 0; then a master that dies leaves its slots to nobody. */
  replicas?: number;
  /** All that is said is encrypted, but for the plain port of each server, which its `port` is. Default: false. */
  isEncrypted?: boolean;
}

/** Redis servers that share the slots. */
export interface ClusterTopology extends Topology {
  /** The server that owns the slots of this shard now, 0 to 2; a failover changes it. */
  masterOf(shard: number): Promise<OwnTestRedis>;
  /** Resolves when every server is up and agrees with all others, and every replica follows its master. */
  settled(): Promise<void>;
}

interface Node {
  redis: OwnTestRedis;
  /** The one that its clients are told of. */
  clientPort: number;
  busPort: number;
}

const ranges = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
] as const;
/** As our documentation advises operators; the default time-out of 15 s would be a long test, too. */
const failoverSettings = ['--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no'];
/** Six servers meet in seconds on an idle machine. */
const settleLimitMs = 60_000;
const portAttempts = 5;

/** Three masters, the first three of `nodes`, and their replicas. Leaves nothing behind when it fails. */
export async function startCluster({
  replicas = 0,
  isEncrypted = false,
}: StartClusterOptions = {}): Promise<ClusterTopology> {
  await using stack = new AsyncDisposableStack();
  const nodes: Node[] = [];
  const settings = replicas === 0 ? [] : [...failoverSettings, ...syncAtOnce];
  const encrypt = isEncrypted ? await prepareEncryption(stack) : undefined;
  // One after the other: none takes the port that another one has just found free.
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
      // By default the bus takes the port 10,000 above, which an outgoing connection may have.
      const ports = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(busPort)];
      const mine = ['--cluster-enabled', 'yes', ...ports, ...encryptionArguments(encryption)];
      const redis = await startOwnRedis({ arguments: [...mine, ...settings] });
      return { redis, clientPort: encryption?.port ?? redis.port, busPort };
    } catch (thrown) {
      // Somebody took one of the ports between the question and the start.
      if (attempt === portAttempts) throw thrown;
    }
  }
}

/** Gives the masters their slots and makes everybody known to everybody. */
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
    // What each says of the others: a server that it takes for dead is not settled, whatever it is.
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
