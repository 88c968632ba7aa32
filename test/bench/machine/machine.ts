import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** What a reader must know about the machine to judge a figure. */
export interface Machine {
  processor: string;
  cores: number;
  memoryGiB: number;
  kernel: string;
  node: string;
}

/** CPU time of the whole machine since its start, in milliseconds. */
export interface MachineTimes {
  busyMs: number;
  totalMs: number;
}

const tickMs = 10;
/** Positions in the first line of /proc/stat of the times that are no work: idle, and waiting for a disk. */
const [idle, waiting] = [3, 4];

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(),
    node: process.version,
  };
}

/** Reads the machine's CPU times. Time that the hypervisor gave to other guests counts as busy. */
export function readMachineTimes(): MachineTimes {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  // The time of guests, from the ninth field on, is contained in user time.
  const fields = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const totalMs = fields.reduce((sum, ticks) => sum + ticks * tickMs, 0);
  return { busyMs: totalMs - ((fields[idle] ?? 0) + (fields[waiting] ?? 0)) * tickMs, totalMs };
}

/** Largest number of files that a process started from here may have open. */
export function openFilesLimit(): number {
  const line = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  return line?.[1] === 'unlimited' ? Infinity : Number(line?.[1] ?? 1024);
}
