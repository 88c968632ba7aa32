import { Redis, type SentinelAddress } from 'ioredis';

/** Redis 6 prefixes the errors of commands in a script with words of its own. */
const refusal = /^(?:ERR .*-)?(?:READONLY|MASTERDOWN|LOADING) /;

/**
 * Whether a command was refused because its server is no longer a master. A managed failover moves the address to the
 * new master, and may leave old connections open to the old one.
 */
export function isRefusedByReplica(error: Error): boolean {
  return refusal.test(error.message);
}

/**
 * Closes a connection that turns out to lead to a replica, and emits an error. It is not `ready` before a master
 * answers at its address, which is tried again and again.
 */
export function shunReplicas(node: Redis): void {
  // Private in ioredis, whose version is pinned. Its sentinel connector uses it for this purpose; a test demotes a
  // server.
  const { connector } = node as unknown as { connector: { check(info: { role?: string }): boolean } };
  const check = connector.check;
  connector.check = function checkRole(this: typeof connector, info) {
    if (info.role !== 'slave') return check.call(this, info);
    node.emit('error', new Error('it is a replica, and takes nothing'));
    return false;
  };
}

const switchChannel = '+switch-master';
const sentinelRetryMs = 500;

/**
 * Leaves a master as soon as a sentinel says that it was replaced. A master that the sentinels cannot reach, or that
 * was frozen, may take commands for seconds or hours after that, and they are lost. Unlike the failover detector of
 * ioredis, which ends for good a connection that is being made at that moment, this only cuts the present one.
 */
export function leaveReplaced(client: Redis, sentinels: readonly Partial<SentinelAddress>[]): void {
  const { name, sentinelUsername, sentinelPassword, sentinelTLS, keepAlive, connectionName } = client.options;
  for (const sentinel of sentinels) {
    const listener = new Redis({
      ...sentinel,
      ...(sentinelUsername && { username: sentinelUsername }),
      ...(sentinelPassword && { password: sentinelPassword }),
      ...(sentinelTLS && { tls: sentinelTLS }),
      ...(keepAlive !== undefined && { keepAlive }),
      ...(connectionName && { connectionName }),
      retryStrategy: () => sentinelRetryMs,
      maxRetriesPerRequest: null,
      autoResubscribe: false,
      enableReadyCheck: false,
    });
    // The connection that asks the sentinels for the master reports what is wrong with them.
    listener.on('error', () => undefined);
    listener.on('message', (_channel: string, text: string) => {
      if (text.startsWith(`${name} `)) client.stream?.destroy();
    });
    // With `autoResubscribe`, a failed subscription would be an unhandled rejection, which ends the process.
    listener.on('ready', () => void listener.subscribe(switchChannel).catch(() => undefined));
    client.once('end', () => listener.disconnect());
  }
}
