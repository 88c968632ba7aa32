import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis/connection.ts';

/** Who asks nothing would notice nothing. */
const askIntervalMs = 500;
/** Questions in a row after which it is Redis that says nothing, and nobody else. Counted, since our process may stand still, too. */
const unansweredLimit = 2;

/**
 * Asks Redis for a sign of life, again and again until the connection ends, and returns what tells whether it gives any.
 * In a cluster the questions go to the masters that carry these channels, and not through the subscriptions, which TCP's
 * keep-alive watches.
 */
export function askForSigns(subscriber: RedisClient, channels: () => Iterable<string>): () => boolean {
  const { ask, isAnswered } =
    subscriber instanceof Cluster ? askMasters(subscriber, channels) : askServer(subscriber);
  const timer = setInterval(ask, askIntervalMs);
  timer.unref();
  subscriber.once('end', () => clearInterval(timer));
  return isAnswered;
}

interface Questions {
  ask(): void;
  isAnswered(): boolean;
}

function askServer(server: Redis): Questions {
  let unanswered = 0;
  const answered = (): void => {
    unanswered = 0;
  };
  return {
    ask: () => {
      // What is on its way is asked for its role by itself.
      if (server.status !== 'ready') return;
      unanswered += 1;
      // An answer that does not come closes the connection, and then it is opened again.
      server.ping().then(answered, answered);
    },
    isAnswered: () => server.status !== 'connect' && unanswered < unansweredLimit,
  };
}

/**
 * A master is known by its address: a connection that is closed for its silence leaves the cluster's, and the one after it
 * has not been answered either.
 */
function askMasters(cluster: Cluster, channels: () => Iterable<string>): Questions {
  const unanswered = new Map<string, number>();
  const ask = (address: string): void => {
    const node = nodeAt(cluster, address);
    // It is made anew if this is still the master, and another one is asked if not.
    if (!node) cluster.refreshSlotsCache();
    // What is on its way counts, too: it may be given up before it was asked anything.
    unanswered.set(address, (unanswered.get(address) ?? 0) + 1);
    // It is asked for its role by itself; a node waits for its first command.
    if (node && node.status !== 'ready' && node.status !== 'wait') return;
    const answered = (): void => void unanswered.delete(address);
    // A script waits where a message would, unlike PING. Who refuses to run it has answered, too.
    node?.eval('return 1', 0).then(answered, (error: Error) => error.name === 'ReplyError' && answered());
  };
  return {
    ask: () => mastersOf(cluster, channels()).forEach(ask),
    isAnswered: () => {
      for (const address of mastersOf(cluster, channels())) {
        if ((unanswered.get(address) ?? 0) >= unansweredLimit) return false;
        if (nodeAt(cluster, address)?.status === 'connect') return false;
      }
      return true;
    },
  };
}

/** The addresses of those that carry these channels, as far as it is known. */
function mastersOf({ slots }: Cluster, channels: Iterable<string>): Set<string> {
  const addresses = new Set<string>();
  for (const channel of channels) {
    const [master] = slots[slotOf(channel)] ?? [];
    if (master !== undefined) addresses.add(master);
  }
  return addresses;
}

function nodeAt(cluster: Cluster, address: string): Redis | undefined {
  return cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
}
