import type { Socket } from 'node:net';
import { SluiceError } from '@sluice/canonical';
import type { Redis } from 'ioredis';

/** How often a connection is checked. */
const lookIntervalMs = 100;

/**
 * Cuts a connection on which Redis is silent for `limitMs` while a command waits for its answer. The waiting commands
 * fail if `failsFast`; otherwise ioredis sends them again. A Redis that still takes what we send does not count as
 * silent: a prompt of many megabytes takes longer than the limit, and cutting it would fail everybody else's commands.
 *
 * It counts checks and does not measure time. If our own process stood still, answers may lie unread in its socket, and
 * timers run before they are read. The limits of ioredis take that for silence, and cost a timer per command.
 */
export function watchSilence(node: Redis, limitMs: number, failsFast: boolean): void {
  const silentLooksAllowed = Math.ceil(limitMs / lookIntervalMs);
  let silentLooks = 0;
  let unsent = 0;
  const heard = (): void => {
    silentLooks = 0;
  };
  node.on('connect', () => {
    heard();
    node.stream.on('data', heard);
  });
  const timer = setInterval(() => {
    const stillUnsent = bytesUnsent(node.stream);
    const isTaking = stillUnsent !== unsent;
    unsent = stillUnsent;
    silentLooks = node.commandQueue.length === 0 || isTaking ? 0 : silentLooks + 1;
    if (silentLooks <= silentLooksAllowed) return;
    heard();
    const silence = new SluiceError('unavailable', `redis said nothing for ${limitMs} ms`);
    // A cluster would send the commands of a lost connection again, up to 15 times, and wait as long each time. They
    // get an error of their own, because callers read a `SluiceError` as their own refusal.
    if (failsFast) failWaiting(node, new Error(silence.message));
    node.stream?.destroy(silence);
  }, lookIntervalMs);
  timer.unref();
  node.once('end', () => clearInterval(timer));
}

/** `flushQueue` is private in ioredis, whose version is pinned; a test counts the tries. */
function failWaiting(node: Redis, error: Error): void {
  (node as unknown as { flushQueue(error: Error): void }).flushQueue(error);
}

/**
 * Bytes that the kernel has not taken yet. The handle is private in Node, whose streams only report whole writes. Under
 * TLS, the bytes are in that of the socket below.
 */
function bytesUnsent(stream: SocketWithHandle | undefined): number {
  const handle = stream?._handle;
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0;
}

interface SocketWithHandle extends Pick<Socket, 'destroy'> {
  _handle?: Handle | null;
}

interface Handle {
  writeQueueSize?: number;
  _parent?: Handle;
}
