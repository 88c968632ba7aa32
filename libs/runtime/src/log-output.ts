import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Takes log lines and never stands in the way of the process: not while their reader stalls, not when they can't be written. */
export interface LogOutput {
  /** Writes the line when those before it are written. It is lost where that fails, and where too much waits. */
  write(line: string): void;
  /** Writes what waits at once, as far as it can be, for a process that may not live on. */
  flushSync(): void;
}

/** A pipe that holds 64 KiB and is emptied each time takes 13 MB a second. */
const busyPauseMs = 5;
/** How long a flush waits for a reader that takes nothing. */
const flushLimitMs = 1_000;

/**
 * Lines to a file descriptor, in the background. It stands beside pino's own destination, whose flush repeats for ever
 * what fails: a full disk or a pipe without a reader would hang the process. At most `maxWaiting` characters wait.
 */
export function openLogOutput(target: number, maxWaiting: number): LogOutput {
  const fd = withoutBlocking(target);
  let waiting = '';
  /** Characters that are being written. */
  let underWay = 0;
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
    write(fd, bytes, (error, written) => {
      if (error && isBusy(error)) setTimeout(put, busyPauseMs, bytes);
      // What can't be written now is given up: later lines tell whether there is room again.
      else if (error || written === bytes.length) next();
      else put(bytes.subarray(written));
    });
  };

  return {
    write: (line) => {
      if (underWay + waiting.length + line.length > maxWaiting) return;
      waiting += line;
      if (underWay > 0 || isScheduled) return;
      // Not yet: what is under way when the process ends may come too late, or behind what is flushed.
      isScheduled = true;
      process.nextTick(begin);
    },
    flushSync: () => {
      const bytes = Buffer.from(waiting);
      waiting = '';
      writeAtOnce(fd, bytes);
    },
  };
}

/**
 * A pipe whose reader stalls would hold the thread that writes to it for ever, and with it the end of the process: opened
 * anew for this process alone, it says that it is full. Anything else stays as it is.
 */
function withoutBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not everywhere is there such a file, and not everybody may open it.
    return fd;
  }
}

function writeAtOnce(fd: number, bytes: Buffer): void {
  const giveUpAt = performance.now() + flushLimitMs;
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyPauseMs);
    }
  }
}

/** Whether the other end only takes nothing at the moment. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
