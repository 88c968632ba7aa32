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

/** Watches this process from `start` on. */
export class SelfWatch {
  private readonly delay = monitorEventLoopDelay({ resolution: 10 });
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

  stop(): SelfLoad {
    const elapsedMs = performance.now() - this.startedAt;
    const cpu = process.cpuUsage(this.cpu);
    const machine = machineTimes();
    const machineMs = machine.total - this.machine.total;
    this.delay.disable();
    return {
      cpuShare: (cpu.user + cpu.system) / 1000 / elapsedMs,
      loopShare: performance.eventLoopUtilization(this.loop).utilization,
      // The monitor's values include its own period of 10 ms.
      loopDelayP99Ms: Math.max(0, this.delay.percentile(99) / 1e6 - 10),
      machineShare: machineMs > 0 ? (machine.busy - this.machine.busy) / machineMs : 0,
    };
  }
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
