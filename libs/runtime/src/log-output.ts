import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

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

/**
 * Writes lines to a file descriptor in the background. It replaces pino's own destination, whose flush repeats a
 * failing write for ever: a full disk or a pipe without a reader would hang the process. At most `maxWaiting`
 * characters wait.
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
      // Text that cannot be written is given up; later lines will show whether writing works again.
      else if (error || written === bytes.length) next();
      else put(bytes.subarray(written));
    });
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
      const bytes = Buffer.from(waiting);
      waiting = '';
      writeAtOnce(fd, bytes);
    },
  };
}

/**
 * Opens a pipe anew for this process, in non-blocking mode. A pipe whose reader stalls would otherwise block the
 * writing thread for ever, and with it the end of the process. Anything that is not a pipe is returned as it is.
 */
function withoutBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not every system has such a file, and not every user may open it.
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

/** Whether the pipe is only full at the moment. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
