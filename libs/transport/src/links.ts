import { SluiceError } from '@sluice/canonical';
import { Redis } from 'ioredis';
import { type Bus, createBus } from './bus.ts';
import { probeKey } from './names.ts';
import { masterAt, masterOf } from './redis/cluster-master.ts';
import {
  type ConnectionProfile,
  connected,
  openRedis,
  type RedisClient,
  reconnect,
} from './redis/connection.ts';
import { createQuietLine } from './redis/quiet-line.ts';
import { printableAddress } from './redis/redis-address.ts';
import { checkRedis } from './redis/redis-policy.ts';
import { openRoaming } from './redis/roaming-connection.ts';
import { reasonOf, tryUntil } from './redis/try-until.ts';

const connectLimitMs = 5_000;
const measureIntervalMs = 1_000;

/** The connections of a process to Redis: for commands, subscriptions and messages, and the bus over them. */
export interface Links {
  commands: RedisClient;
  /**
   * The connection for plain subscriptions, whose messages visit every server of a cluster. Its users renew them at each
   * `ready`.
   */
  broadcasts(): Redis;
  bus: Bus;
  /** Whether commands are sent at once, and writes are not refused. */
  isUp(): boolean;
  /**
   * Whether messages of this channel, or by default of all of ours, would reach us now. A Redis that makes writers wait
   * (`CLIENT PAUSE … WRITE`, a managed failover) delivers no messages either, although it answers a subscriber's ping.
   */
  isListening(channel?: string): boolean;
  /** Whether messages of this channel will reach us, be it late, behind large ones that are on their way. */
  isReached(channel: string): boolean;
  /**
   * Does this for a process that starts: again and again while Redis is away, and for 5 s at most. Rejects with what
   * Redis refused, or with `unavailable`, which names the address and the reason.
   */
  patiently<Value>(attempt: () => Promise<Value>): Promise<Value>;
  close(): void;
}

/** What the links are for, and what they call. */
export interface LinksOptions {
  /**
   * How commands behave when Redis is away. The bus of a `worker` also posts on a connection of its own, whose messages
   * Redis does not answer; not in a cluster, where each channel has its own master.
   */
  profile: Extract<ConnectionProfile, 'command' | 'worker'>;
  /** Shown by `CLIENT LIST`. */
  name: string;
  /** Called with the first error of each outage of each connection. */
  onConnectionError(error: Error): void;
  /** Called when such an outage is over. Default: none. */
  onConnectionRecovery?(): void;
  /**
   * Called once a second with the time that Redis took to answer, or after which the connection was lost without an
   * answer, milliseconds; not while it is away. Default: none.
   */
  onRoundTrip?(durationMs: number): void;
  /** Called with what a listener of the bus threw. */
  onBadMessage(error: unknown): void;
}

/**
 * Connects to Redis and checks that we can work with it. Otherwise rejects with a sentence for the operator, and leaves
 * nothing open.
 */
export async function openLinks(url: string, options: LinksOptions): Promise<Links> {
  const {
    profile,
    name,
    onConnectionError: onError,
    onConnectionRecovery: onRecovery,
    onRoundTrip,
    onBadMessage,
  } = options;
  const told = { onError, ...(onRecovery && { onRecovery }) };
  const subscriber = openRedis(url, { profile: 'subscriber', name: `${name}-subscriber`, ...told });
  const quiet =
    profile === 'worker' && subscriber instanceof Redis
      ? openRedis(url, { profile: 'quiet', name: `${name}-messages`, ...told })
      : undefined;
  const line = quiet instanceof Redis ? createQuietLine(quiet) : undefined;
  // The server does not tell these that it was demoted, and messages now go through the new master.
  const onDemoted = (): void => {
    reconnect(subscriber);
    if (quiet) reconnect(quiet);
  };
  let outage: 'refused' | 'unanswered' | undefined;
  const commands = openRedis(url, {
    profile,
    name,
    onDemoted,
    onError: (error) => {
      // In a cluster, a single master's error says nothing about the others.
      if (commands instanceof Redis) outage = error.name === 'ReplyError' ? 'refused' : 'unanswered';
      onError(error);
    },
    onRecovery: () => {
      outage = undefined;
      onRecovery?.();
    },
  });
  let measuring: NodeJS.Timeout | undefined;
  const close = (): void => {
    clearInterval(measuring);
    commands.disconnect();
    subscriber.disconnect();
    line?.close();
  };
  try {
    const limit = AbortSignal.timeout(connectLimitMs);
    await reached(url, [commands, subscriber, ...(quiet ? [quiet] : [])], limit);
    await whileAway(url, () => checkRedis(commands), limit);
    await tryUntil(limit, () => commands.persist(probeKey), {
      sentence: sentenceOf(url, 'does not take writes'),
    });
  } catch (error) {
    close();
    throw error;
  }
  if (onRoundTrip) {
    measuring = setInterval(() => measure(commands, onRoundTrip), measureIntervalMs);
    measuring.unref();
  }
  const bus = createBus(commands, subscriber, onBadMessage, line);
  let roaming: Redis | undefined;
  return {
    commands,
    broadcasts: () => {
      if (subscriber instanceof Redis) return subscriber;
      roaming ??= openRoaming(subscriber);
      return roaming;
    },
    bus,
    isUp: () => commands.status === 'ready' && bus.canPublish() && outage === undefined,
    isListening: (channel) => bus.isUp(channel) && outage !== 'unanswered',
    isReached: (channel) => bus.isReached(channel) && outage !== 'unanswered',
    patiently: (attempt) => whileAway(url, attempt, AbortSignal.timeout(connectLimitMs)),
    close: () => {
      roaming?.disconnect();
      close();
    },
  };
}

function measure(commands: RedisClient, onRoundTrip: (durationMs: number) => void): void {
  if (commands.status !== 'ready') return;
  const connection =
    commands instanceof Redis ? commands : masterAt(commands, masterOf(commands, probeKey) ?? '');
  const askedAt = performance.now();
  let isTold = false;
  const tell = (): void => {
    connection?.off('close', tell);
    if (!isTold) onRoundTrip(performance.now() - askedAt);
    isTold = true;
  };
  // A stall that outlasts the connection's limit must not look like none. A worker's question is asked again on the next
  // connection, and its answer would come when all is over.
  connection?.once('close', tell);
  commands.exists(probeKey).then(tell, tell);
}

/**
 * Resolves when all connections to the Redis of `url` can take commands. If `signal` aborts first, rejects with
 * `unavailable`, which names the address (without its password) and the reason.
 */
export async function reached(
  url: string,
  clients: readonly RedisClient[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await Promise.all(clients.map((client) => connected(client, signal)));
  } catch (cause) {
    const why = reasonOf(cause);
    // A Redis without TLS takes the greeting for the beginning of a command, and waits for the rest.
    const isSilent = url.startsWith('rediss') && /^(?:no answer|timeout)$/.test(why);
    const hint = isSilent ? ', as where Redis speaks no TLS' : '';
    const sentence = sentenceOf(url, 'is not reachable')(`${why}${hint}`);
    throw new SluiceError('unavailable', sentence, { cause });
  }
}

/** Tries again while Redis is away. If `signal` aborts first, rejects with `unavailable`. */
function whileAway<Value>(url: string, attempt: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  return tryUntil(signal, attempt, {
    isFinal: (cause) =>
      cause instanceof SluiceError || (cause instanceof Error && cause.name === 'ReplyError'),
    sentence: sentenceOf(url, 'does not serve'),
  });
}

/** Says to the operator what is wrong with the Redis of a URL, and why. */
const sentenceOf =
  (url: string, what: string) =>
  (why: string): string =>
    `redis at ${printableAddress(url)} ${what}: ${explain(why)}`;

/**
 * Rewords errors of Redis, of its client and of TLS so that they say what the operator has to do. In protected mode
 * Redis says so, but its client passes on only that the connection ended.
 */
function explain(complaint: string): string {
  return complaint
    .replace(/^All sentinels are unreachable\..*?Last error: /, 'no sentinel is reachable: ')
    .replace(
      /\b(self-signed certificate|unable to (?:verify|get) [^;]*certificate).*/,
      '$1, and NODE_EXTRA_CA_CERTS names no authority of it',
    )
    .replace(
      /^(no sentinel is reachable: )NOAUTH\b.*/,
      '$1NOAUTH, it wants a password of its own, as in /GROUP?sentinelPassword=PASSWORD',
    )
    .replace(/\bNOAUTH\b(?!,).*/, 'NOAUTH, it wants a password, as in redis://:PASSWORD@HOST')
    .replace(/\bWRONGPASS\b.*/, 'WRONGPASS, it refuses the user or the password')
    .replace(/\b(?:read|write) (?:ECONNRESET|EPIPE)$/, '$&, as where Redis wants TLS or is in protected mode')
    .replace(/\S*:SSL routines:.*\bwrong version number\b.*/s, 'what answers there speaks no TLS')
    .replace(/\bERR DB index is out of range\b.*/, 'it has no such database')
    .replace(/^Unknown RESP type.*|^Protocol error,.*/s, 'what answers there is no Redis');
}
