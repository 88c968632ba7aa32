import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@sluice/redis';
import { Redis } from 'ioredis';
import { type OwnTestRedis, startOwnRedis } from './redis.ts';
import { until } from './until.ts';

/** Redis servers of one topology, started for a test file. */
export interface Topology {
  readonly name: string;
  /** As an operator would write it. */
  readonly url: string;
  readonly nodes: readonly OwnTestRedis[];
  stop(): Promise<void>;
}

/** One server. */
export async function startSingle(): Promise<Topology> {
  const node = await startOwnRedis();
  return { name: 'single', url: node.url, nodes: [node], stop: () => node.stop() };
}

/** A master, its replica, and one sentinel that moves the role within a second or two. */
export async function startSentinel(): Promise<Topology> {
  const master = await startOwnRedis();
  const replica = await startOwnRedis({ arguments: ['--replicaof', '127.0.0.1', String(master.port)] });
  await until(async () => (await ask(replica.port, 'INFO', 'replication')).includes('master_link_status:up'));
  const port = await findFreePort();
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-sentinel-'));
  const file = join(directory, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    `dir ${directory}`,
    `sentinel monitor group 127.0.0.1 ${master.port} 1`,
    'sentinel down-after-milliseconds group 500',
    'sentinel failover-timeout group 3000',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  await until(async () => (await ask(port, 'SENTINEL', 'REPLICAS', 'group')).includes(String(replica.port)));
  return {
    name: 'sentinel',
    url: `redis+sentinel://127.0.0.1:${port}/group`,
    nodes: [master, replica],
    stop: async () => {
      await end(sentinel);
      await rm(directory, { recursive: true, force: true });
      await Promise.all([master.stop(), replica.stop()]);
    },
  };
}

/** Three masters that share the slots. */
export async function startCluster(): Promise<Topology> {
  const nodes = await Promise.all([startNode(), startNode(), startNode()]);
  const ranges = [
    [0, 5_460],
    [5_461, 10_922],
    [10_923, 16_383],
  ];
  for (const [index, { redis }] of nodes.entries()) {
    await ask(redis.port, 'CLUSTER', 'ADDSLOTSRANGE', ...(ranges[index] ?? []).map(String));
    await ask(redis.port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
    for (const other of nodes.slice(0, index)) {
      await ask(redis.port, 'CLUSTER', 'MEET', '127.0.0.1', String(other.redis.port), String(other.busPort));
    }
  }
  for (const { redis } of nodes) {
    await until(async () => {
      const state = await ask(redis.port, 'CLUSTER', 'INFO');
      return state.includes('cluster_state:ok') && state.includes('cluster_known_nodes:3');
    });
  }
  return {
    name: 'cluster',
    url: `redis+cluster://${nodes.map(({ redis }) => `127.0.0.1:${redis.port}`).join(',')}`,
    nodes: nodes.map(({ redis }) => redis),
    stop: async () => {
      await Promise.all(nodes.map(({ redis }) => redis.stop()));
    },
  };
}

async function startNode(): Promise<{ redis: OwnTestRedis; busPort: number }> {
  const busPort = await findFreePort();
  // By default the bus takes the port 10,000 above, which many free ports leave no room for.
  const arguments_ = [
    '--cluster-enabled',
    'yes',
    '--cluster-announce-ip',
    '127.0.0.1',
    '--cluster-port',
    String(busPort),
  ];
  return { redis: await startOwnRedis({ arguments: arguments_ }), busPort };
}

/** Sends one command to one server and returns its answer as text. */
export async function ask(port: number, command: string, ...args: string[]): Promise<string> {
  const client = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return JSON.stringify(await client.call(command, ...args)) ?? '';
  } finally {
    client.disconnect();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
