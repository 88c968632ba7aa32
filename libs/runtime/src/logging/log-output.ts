import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty } from 'node:tty';

/** Takes log lines without ever blocking the process, even if their reader stalls or they cannot be written. */
export interface LogOutput {
  /** Writes the line after those before it. The line is lost if that fails, or if too much already waits. */
  write(line: string): void;
  /** Writes the waiting lines at once, as far as possible, for a process that is about to end. */
  flushSync(): void;
}

/** Pause before a full pipe is tried again. A pipe of 64 KiB that is emptied each time still takes 13 MB per second. */
const busyPauseMs = 5;
/** How long a flush waits for a reader that reads nothing. */
const flushLimitMs = 1_000;
const nothing: Buffer = Buffer.alloc(0);

/**
 * Writes lines to a file descriptor in the background. It replaces pino's own destination, whose flush repeats a
 * failing write for ever: a full disk or a pipe without a reader would hang the process. At most `maxWaiting`
 * characters wait.
 */
export function openLogOutput(target: number, maxWaiting: number): LogOutput {
  const output = withoutBlocking(target);
  let waiting = '';
  /** Characters that are being written. */
  let underWay = 0;
  /** Of them, those that a full pipe has not taken yet. A flush takes them away. */
  let paused = nothing;
  let isScheduled = false;

  const begin = (): void => {
    isScheduled = false;
    if (underWay === 0) next();
  };
  const next = (): void => {
    const text = waiting;
    [waiting, underWay] = ['', text.length];
    if (underWay > 0) put(Buffer.from(text));
  };
  const put = (bytes: Buffer): void => {
    output.prepare();
    write(output.fd, bytes, (error, written) => {
      if (error && isBusy(error)) pause(bytes);
      // Text that cannot be written is given up; later lines will show whether writing works again.
      else if (error || written === bytes.length) next();
      else put(bytes.subarray(written));
    });
  };
  const pause = (bytes: Buffer): void => {
    paused = bytes;
    setTimeout(() => put(takePaused()), busyPauseMs);
  };
  const takePaused = (): Buffer => {
    const bytes = paused;
    paused = nothing;
    return bytes;
  };

  return {
    write: (line) => {
      if (underWay + waiting.length + line.length > maxWaiting) return;
      waiting += line;
      if (underWay > 0 || isScheduled) return;
      // Writing begins only after this turn. If the process ends in this turn, a write that was already under way could
      // come too late, or after the flushed lines.
      isScheduled = true;
      process.nextTick(begin);
    },
    flushSync: () => {
      const bytes = Buffer.concat([takePaused(), Buffer.from(waiting)]);
      waiting = '';
      writeAtOnce(output, bytes);
    },
  };
}

/** Where lines are written, without waiting for the reader if the system can do that. */
interface Output {
  fd: number;
  /** Call it before each write. */
  prepare(): void;
}

/**
 * Makes writes to a pipe, a terminal or a socket return at once. If the reader stalls, they would otherwise block the
 * writing thread for ever, and with it the end of the process. Anything else never waits for a reader.
 */
function withoutBlocking(fd: number): Output {
  const asItIs: Output = { fd, prepare: () => undefined };
  try {
    const file = fstatSync(fd);
    if (file.isSocket()) return { fd, prepare: unblockSocket(fd) };
    if (!file.isFIFO() && !isatty(fd)) return asItIs;
    // Opened anew, it is in this mode for this process alone.
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return { ...asItIs, fd: openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY) };
  } catch {
    // Not every system has such a file, and not every user may open it.
    return asItIs;
  }
}

/**
 * The output is a socket under systemd, and under every parent that runs on Node. A socket cannot be opened anew, so its
 * mode is shared with all processes that inherited it, and Node sets it back when it starts or ends one of them.
 */
function unblockSocket(fd: number): () => void {
  // Private in Node, whose public API has no way to set the mode again.
  const socket = new Socket({ fd, readable: false }) as Socket & {
    _handle?: { setBlocking?(isBlocking: boolean): void } | null;
  };
  return () => socket._handle?.setBlocking?.(false);
}

function writeAtOnce({ fd, prepare }: Output, bytes: Buffer): void {
  const giveUpAt = performance.now() + flushLimitMs;
  for (let written = 0; written < bytes.length; ) {
    try {
      prepare();
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyPauseMs);
    }
  }
}

/** Whether the pipe is only full at the moment. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
