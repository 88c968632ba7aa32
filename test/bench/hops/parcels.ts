import { openRedis, type RedisClient } from '@sluice/transport';

/** Bytes of one exchange: a request on its way to the worker, or a piece of its answer on the way back. */
export interface Parcel {
  /** Number of the exchange, 31 bits. */
  readonly exchange: number;
  readonly bytes: Buffer;
  /** Whether it is the last of its exchange. */
  readonly isLast: boolean;
}

export type Channel = 'hops:requests' | 'hops:answers';

const headBytes = 8;
const lastBit = 2 ** 31;

/** A connection to the Redis that both programs are told of. */
export function openLink(): RedisClient {
  const url = process.env.HOPS_REDIS_URL ?? '';
  return openRedis(url, {
    profile: 'subscriber',
    name: 'hops',
    onError: (error) => process.stderr.write(`hops: ${error.message}\n`),
  });
}

/** Calls `receive` with each parcel of a channel. Its bytes are valid for ever. */
export async function subscribe(channel: Channel, receive: (parcel: Parcel) => void): Promise<void> {
  const link = openLink();
  link.on('messageBuffer', (_: Buffer, message: Buffer) => {
    for (let at = 0; at < message.length; ) {
      const [word, size] = [message.readUInt32LE(at), message.readUInt32LE(at + 4)];
      const from = at + headBytes;
      at = from + size;
      receive({ exchange: word % lastBit, bytes: message.subarray(from, at), isLast: word >= lastBit });
    }
  });
  await link.subscribe(channel);
}

/** Publishes what is sent in one turn of the event loop as one message. */
export function createSender(channel: Channel): (parcel: Parcel) => void {
  const link = openLink();
  let parcels: Parcel[] = [];
  const flush = (): void => {
    const pieces = parcels.flatMap(({ exchange, bytes, isLast }) => {
      const head = Buffer.allocUnsafe(headBytes);
      head.writeUInt32LE(exchange + (isLast ? lastBit : 0), 0);
      head.writeUInt32LE(bytes.length, 4);
      return [head, bytes];
    });
    parcels = [];
    void link.publish(channel, Buffer.concat(pieces));
  };
  return (parcel) => {
    if (parcels.length === 0) setImmediate(flush);
    parcels.push(parcel);
  };
}
