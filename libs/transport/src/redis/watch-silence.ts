import type { Socket } from 'node:net';
import { SluiceError } from '@sluice/canonical';
import type { Redis } from 'ioredis';
import { AnsweredBytes } from './answered-bytes.ts';

/** How often a connection is checked. */
const lookIntervalMs = 100;
/** The slowest link to Redis that is waited for, as bytes that it carries between two looks. */
const slowestPerLook = 100 * 1024;
/** What the kernels of both ends may hold of a connection. */
const largestInKernels = 8 * 1024 * 1024;

/**
 * Cuts a connection on which Redis is silent for `limitMs` while a command waits for its answer. The waiting commands
 * fail if `failsFast`; otherwise ioredis sends them again. A Redis that still takes what we send does not count as
 * silent: a prompt of many megabytes takes longer than the limit, and cutting it would fail everybody else's commands.
 * Nor does one that has yet to get what the kernel took: it has a second more for each megabyte, up to eight.
 *
 * It counts checks and does not measure time. If our own process stood still, answers may lie unread in its socket, and
 * timers run before they are read. The limits of ioredis take that for silence, and cost a timer per command.
 */
export function watchSilence(node: Redis, limitMs: number, failsFast: boolean): void {
  const usualLooks = Math.ceil(limitMs / lookIntervalMs);
  let silentLooks = 0;
  let isHeard = false;
  let kernel = kernelOf(undefined);
  const answered = new AnsweredBytes();
  /** Bytes that Redis must get before it can answer the command that waits longest; absent while none waits. */
  let owed: number | undefined;
  const heard = (): void => {
    isHeard = true;
  };
  node.on('connect', () => {
    answered.reset();
    heard();
    node.stream.on('data', heard);
  });
  const timer = setInterval(() => {
    if (isHeard) {
      isHeard = false;
      silentLooks = 0;
      owed = undefined;
    }
    const written = node.stream?.bytesWritten ?? 0;
    answered.look(node.commandQueue, written);
    owed = node.commandQueue.length === 0 ? undefined : (owed ?? written - answered.count);
    const before = kernel;
    kernel = kernelOf(node.stream);
    // What goes into a kernel that has room shows nothing.
    const isTaking = before.untaken > 0 && kernel.taken !== before.taken;
    silentLooks = owed === undefined || isTaking ? 0 : silentLooks + 1;
    const onItsWay = kernel.untaken > 0 ? 0 : Math.min(owed ?? 0, largestInKernels);
    if (silentLooks <= usualLooks + onItsWay / slowestPerLook) return;
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
 * How many bytes the kernel has taken of a stream, and how many more wait until it has room. The handle is private in
 * Node, whose streams only report whole writes. Under TLS, the bytes are in that of the socket below.
 */
function kernelOf(stream: SocketWithHandle | undefined): { taken: number; untaken: number } {
  const handle = stream?._handle;
  const { bytesWritten = 0, writeQueueSize = 0 } = handle?._parent ?? handle ?? {};
  return { taken: bytesWritten - writeQueueSize, untaken: writeQueueSize };
}

interface SocketWithHandle extends Pick<Socket, 'destroy'> {
  _handle?: Handle | null;
}

interface Handle {
  bytesWritten?: number;
  writeQueueSize?: number;
  _parent?: Handle;
}
