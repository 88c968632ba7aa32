import type { Socket } from 'node:net';
import { SluiceError } from '@sluice/canonical';
import type { Redis } from 'ioredis';

/** How often a connection is looked at. */
const lookIntervalMs = 100;

/**
 * Cuts a connection on which Redis says nothing for `limitMs` while a command waits for its answer; what waits fails
 * where it `failsFast`, and is sent again elsewhere, as ioredis has it. While Redis takes what it is sent it is heard, too: a
 * prompt of many megabytes needs longer than the limit, and would take the commands of everybody else down with it.
 *
 * It counts looks and not time: a process that stood still itself has answers in its socket that it has not read
 * yet, and timers run before them. ioredis' own limits take that for silence, and cost a timer per command.
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
    // A cluster would send again 15 times what a lost connection took along, and each time wait for as long.
    // Not by the same error, which callers would take for their own refusal.
    if (failsFast) failWaiting(node, new Error(silence.message));
    node.stream?.destroy(silence);
  }, lookIntervalMs);
  timer.unref();
  node.once('end', () => clearInterval(timer));
}

/** Private in ioredis, whose version is pinned; a test counts the tries. */
function failWaiting(node: Redis, error: Error): void {
  (node as unknown as { flushQueue(error: Error): void }).flushQueue(error);
}

/** What the kernel has not taken yet. Private in Node, whose streams tell of whole writes only; beneath TLS lies a socket. */
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
