import { Cluster, type Redis } from 'ioredis';
import { masterAt, masterOf } from '../redis/cluster-master.ts';
import type { RedisClient } from '../redis/connection.ts';

/** A subscriber sends nothing by itself, so only these questions show whether Redis answers. */
const askIntervalMs = 500;
/**
 * After so many questions in a row without an answer, Redis counts as silent. They are counted and not timed, because
 * our own process may stand still, too.
 */
const unansweredLimit = 2;

/** What shows that messages of a channel can arrive. */
export interface SignsOfLife {
  /** Whether Redis answers where the channel is. */
  isAnswered(channel: string): boolean;
  /** Whether it answers or at least sends: its answer may stand behind messages that are long on their way. */
  isSending(channel: string): boolean;
}

/**
 * Keeps asking Redis for a sign of life until the connection ends. In a cluster the questions go to the masters of these
 * channels, on other connections than those of the subscriptions.
 */
export function askForSigns(subscriber: RedisClient, channels: () => Iterable<string>): SignsOfLife {
  const questions = subscriber instanceof Cluster ? askMasters(subscriber, channels) : askServer(subscriber);
  const timer = setInterval(questions.ask, askIntervalMs);
  timer.unref();
  subscriber.once('end', () => clearInterval(timer));
  return questions;
}

interface Questions extends SignsOfLife {
  ask(): void;
}

function askServer(server: Redis): Questions {
  let unanswered = 0;
  /** Those of them since which nothing has been read. */
  let unheard = 0;
  let read = 0;
  const answered = (): void => {
    unanswered = 0;
  };
  const isBelow = (count: number): boolean => server.status !== 'connect' && count < unansweredLimit;
  return {
    ask: () => {
      // A connection that is being made asks for the server's role by itself.
      if (server.status !== 'ready') return;
      const before = read;
      read = server.stream.bytesRead;
      unanswered += 1;
      unheard = read === before ? unheard + 1 : 1;
      // If the answer does not come, the connection is closed and opened again.
      server.ping().then(answered, answered);
    },
    isAnswered: () => isBelow(unanswered),
    isSending: () => isBelow(Math.min(unanswered, unheard)),
  };
}

/**
 * Asks masters. The counts are kept by address and not by connection: a connection that is closed for its silence
 * leaves the cluster's list, and the one after it has not been answered either.
 */
function askMasters(cluster: Cluster, channels: () => Iterable<string>): Questions {
  const unanswered = new Map<string, number>();
  const ask = (address: string): void => {
    const node = masterAt(cluster, address);
    // The refresh makes a new connection if this is still the master; if not, its successor is asked from then on.
    if (!node) cluster.refreshSlotsCache();
    // A connection that is being made counts as unanswered, too: it may be given up before it was asked anything.
    unanswered.set(address, (unanswered.get(address) ?? 0) + 1);
    // Such a connection asks for the role by itself. In state `wait`, the question is what makes it connect.
    if (node && node.status !== 'ready' && node.status !== 'wait') return;
    const answered = (): void => void unanswered.delete(address);
    // A script waits wherever a message would, unlike PING. A refusal to run it is an answer, too.
    node?.eval('return 1', 0).then(answered, (error: Error) => error.name === 'ReplyError' && answered());
  };
  const isAnswered = (channel: string): boolean => {
    const address = masterOf(cluster, channel);
    if (address === undefined) return true;
    return (
      (unanswered.get(address) ?? 0) < unansweredLimit && masterAt(cluster, address)?.status !== 'connect'
    );
  };
  return {
    ask: () => {
      const masters = mastersOf(cluster, channels());
      // Who has been replaced may take over again, and must not be held silent for what was asked before its death.
      for (const address of unanswered.keys()) if (!masters.has(address)) unanswered.delete(address);
      masters.forEach(ask);
    },
    isAnswered,
    // No message stands before an answer.
    isSending: isAnswered,
  };
}

/** The addresses of the masters of these channels, as far as they are known. */
function mastersOf(cluster: Cluster, channels: Iterable<string>): Set<string> {
  const addresses = new Set<string>();
  for (const channel of channels) {
    const master = masterOf(cluster, channel);
    if (master !== undefined) addresses.add(master);
  }
  return addresses;
}
