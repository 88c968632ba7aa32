import { cpus } from 'node:os';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** How busy the client itself was. */
export interface SelfLoad {
  /** CPU time of this process as a share of one core. */
  cpuShare: number;
  /** Share of the time in which the event loop was not waiting. */
  loopShare: number;
  /** 99th percentile of how late the event loop was, in milliseconds. */
  loopDelayP99Ms: number;
  /** Share of the whole machine's CPU that was used, by whomever. */
  machineShare: number;
}

/** How often the event loop's delay is sampled. */
const periodMs = 10;

/** Watches this process from `start` on. */
export class SelfWatch {
  private readonly delay = monitorEventLoopDelay({ resolution: periodMs });
  private cpu = process.cpuUsage();
  private loop: EventLoopUtilization = performance.eventLoopUtilization();
  private machine = machineTimes();
  private startedAt = performance.now();

  /** Starts over, as after a warm-up. */
  start(): void {
    this.delay.enable();
    this.delay.reset();
    this.cpu = process.cpuUsage();
    this.loop = performance.eventLoopUtilization();
    this.machine = machineTimes();
    this.startedAt = performance.now();
  }

  /** How busy this process has been since `start`. */
  read(): SelfLoad {
    const elapsedMs = performance.now() - this.startedAt;
    const cpu = process.cpuUsage(this.cpu);
    const machine = machineTimes();
    const machineMs = machine.total - this.machine.total;
    return {
      cpuShare: (cpu.user + cpu.system) / 1000 / elapsedMs,
      loopShare: performance.eventLoopUtilization(this.loop).utilization,
      loopDelayP99Ms: latenessP99Ms(this.delay.percentile(99) / 1e6, this.delay.max / 1e6, elapsedMs),
      machineShare: machineMs > 0 ? (machine.busy - this.machine.busy) / machineMs : 0,
    };
  }

  stop(): void {
    this.delay.disable();
  }
}

/**
 * How late the event loop was at the 99th percentile of the time. The monitor takes one sample of a stall, however long it
 * is. But whatever was due in its first instants waited for nearly all of it: in the worst hundredth of the time, for
 * more than the longest stall without that hundredth.
 */
export function latenessP99Ms(sampledP99Ms: number, longestMs: number, elapsedMs: number): number {
  // The monitor's values include its own period.
  return Math.max(0, sampledP99Ms - periodMs, longestMs - periodMs - elapsedMs / 100);
}

function machineTimes(): { busy: number; total: number } {
  const sum = { busy: 0, total: 0 };
  for (const { times } of cpus()) {
    const busy = times.user + times.nice + times.sys + times.irq;
    sum.busy += busy;
    sum.total += busy + times.idle;
  }
  return sum;
}
