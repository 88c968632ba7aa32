import { Redis, type SentinelAddress } from 'ioredis';

/** Redis 6 puts what a command of a script was told behind words of its own. */
const refusal = /^(?:ERR .*-)?(?:READONLY|MASTERDOWN|LOADING) /;

/**
 * Whether a command was refused because its server is no master any more: a managed failover moves the address and
 * may leave the old connections where they are.
 */
export function isRefusedByReplica(error: Error): boolean {
  return refusal.test(error.message);
}

/**
 * Gives a connection up that was made to a replica, and says so as an error: it is tried again until there is a master
 * behind its address, and is not ready before.
 */
export function shunReplicas(node: Redis): void {
  // Private in ioredis, whose version is pinned; it asks this of sentinels' servers, and a test demotes one of ours.
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
 * Leaves a master that the sentinels have replaced as soon as one of them says so: whom they don't reach, and who stood
 * still meanwhile, takes commands for seconds or hours yet, and nobody else hears them. Unlike ioredis' own detector,
 * which ends a connection for good that is on its way in that moment, it only cuts what there is.
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
    // Whoever asks the sentinels for the master tells what is wrong with them.
    listener.on('error', () => undefined);
    listener.on('message', (_channel: string, text: string) => {
      if (text.startsWith(`${name} `)) client.stream?.destroy();
    });
    // By itself ioredis would leave what becomes of it to nobody, which ends the process.
    listener.on('ready', () => void listener.subscribe(switchChannel).catch(() => undefined));
    client.once('end', () => listener.disconnect());
  }
}
