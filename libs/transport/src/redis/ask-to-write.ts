import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { probeKey } from '../names.ts';
import { masterAt } from './cluster-master.ts';

/** How often each server is asked whether it takes writes. */
const askIntervalMs = 1_000;
/** How many questions in a row may fail for want of a connection, which may just be being renewed. */
const awayAfterQuestions = 2;
/** Errors in which a master speaks about the cluster and not about itself. */
const isAboutTheCluster = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/**
 * Asks the server, or each master of a cluster, again and again whether it takes writes, by a write command that finds
 * nothing to write. It may have become a replica (which a connection that only publishes does not notice), lack
 * replicas or disk of its own, or refuse our user. A refusal is emitted as an error of the connection; `served` is
 * called each time that every one of them takes writes.
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
    // Without an answer, the connection is closed and opened again, which is reported by itself.
    if (error.name === 'ReplyError') server.emit('error', error);
  });
}

function askMasters(cluster: Cluster, served: () => void): () => void {
  /** Failed questions in a row, by the master's address. */
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
  // Looking through all slots takes milliseconds, so it is done only when they may have moved.
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

/** For each master's address a key in one of its slots, which never exists. */
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
