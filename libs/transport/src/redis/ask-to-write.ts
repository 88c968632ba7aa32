import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { probeKey } from '../names.ts';
import { masterAt } from './cluster-master.ts';

/** How often a server that takes what we write is asked whether it does. */
const askIntervalMs = 1_000;
/** Questions to a cluster after which a master without a connection counts as away: a connection may just be renewed. */
const awayAfterQuestions = 2;
/** What one master of a cluster says of another, or of all of them, and not of itself. */
const isAboutTheCluster = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/**
 * Asks whether the server, or each master of a cluster, takes what we write, by a command that finds nothing to write: it
 * may have become a replica, of which nobody hears who only publishes, miss its own replicas or its disk, or refuse it to
 * our user. Each refusal is an error of the connection; `served` is told each time that all of them take it.
 */
export function keepAsking(client: Redis | Cluster, served: () => void): void {
  const ask = client instanceof Cluster ? askMasters(client, served) : () => askServer(client, served);
  client.on('ready', ask);
  const timer = setInterval(() => {
    if (client.status === 'ready') ask();
  }, askIntervalMs);
  timer.unref();
  client.once('end', () => clearInterval(timer));
}

function askServer(server: Redis, served: () => void): void {
  server.persist(probeKey).then(served, (error: Error) => {
    // An answer that does not come closes the connection, and then it is opened again.
    if (error.name === 'ReplyError') server.emit('error', error);
  });
}

function askMasters(cluster: Cluster, served: () => void): () => void {
  /** By the master's address: how often in a row it took nothing. */
  const failures = new Map<string, number>();
  const failed = (address: string, allowed: number, reason: string): void => {
    const times = (failures.get(address) ?? 0) + 1;
    failures.set(address, times);
    if (times > allowed) cluster.emit('error', new Error(`the master at ${address}: ${reason}`));
  };
  const ask = async (address: string, key: string): Promise<void> => {
    const node = masterAt(cluster, address);
    if (!node) cluster.refreshSlotsCache();
    if (node?.status !== 'ready' && node?.status !== 'wait') {
      failed(address, awayAfterQuestions, 'it is not reachable');
      return;
    }
    try {
      await node.persist(key);
      failures.delete(address);
    } catch (error) {
      const { name, message } = error as Error;
      if (isAboutTheCluster.test(message)) return;
      failed(address, name === 'ReplyError' ? 0 : awayAfterQuestions, message);
    }
  };
  let keys: ReadonlyMap<string, string> = new Map();
  // To look through all slots takes milliseconds, so it is done only once they may have moved.
  let areKeysOld = true;
  cluster.on('refresh', () => {
    areKeysOld = true;
  });
  return () => {
    if (areKeysOld) keys = keysOfMasters(cluster);
    areKeysOld = false;
    for (const address of failures.keys()) if (!keys.has(address)) failures.delete(address);
    void Promise.all(Array.from(keys, ([address, key]) => ask(address, key))).then(() => {
      if (failures.size === 0) served();
    });
  };
}

/** For each master a key that it would keep, which is never there. */
function keysOfMasters({ slots }: Cluster): Map<string, string> {
  const missing = new Set(slots.flatMap(([master]) => master ?? []));
  const keys = new Map<string, string>();
  for (let number = 0; missing.size > 0; number += 1) {
    const key = `${probeKey}:${number}`;
    const [master] = slots[slotOf(key)] ?? [];
    if (master !== undefined && missing.delete(master)) keys.set(master, key);
  }
  return keys;
}
