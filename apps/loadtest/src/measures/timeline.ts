import type { Scenario } from '../scenario/scenario.ts';
import { LatencyHistogram } from './histogram.ts';
import { addTotals, emptyTotals, type Interval } from './recorder.ts';
import type { IntervalResult } from './result.ts';

/** Puts the processes' parts of each second together. */
export class Timeline {
  private readonly scenario: Scenario;
  private readonly report: ((interval: IntervalResult) => void) | undefined;
  private readonly parts = new Map<number, Interval[]>();
  private readonly done: IntervalResult[] = [];
  /** The last second of each process that still reports; -1 before its first. */
  private readonly reached: Map<number, number>;

  constructor(scenario: Scenario, report: ((interval: IntervalResult) => void) | undefined) {
    this.scenario = scenario;
    this.report = report;
    this.reached = new Map(Array.from({ length: scenario.processes }, (_, process) => [process, -1]));
  }

  /** Takes a process's part of a second; each process reports its seconds in order, and may skip some. */
  add(interval: Interval, process: number): void {
    // The last words of a process that died may come after its end.
    if (!this.reached.has(process)) return;
    const parts = this.parts.get(interval.index) ?? [];
    parts.push(interval);
    this.parts.set(interval.index, parts);
    this.reached.set(process, interval.index);
    this.closeTo(Math.min(...this.reached.values()));
  }

  /** A process reports no more: it has ended or died. */
  end(process: number): void {
    this.reached.delete(process);
    this.closeTo(Math.min(...this.reached.values()));
  }

  finish(): IntervalResult[] {
    this.closeTo(Infinity);
    return this.done.sort((a, b) => a.second - b.second);
  }

  /** Closes the seconds that all who still report have behind them. */
  private closeTo(last: number): void {
    const seconds = [...this.parts].filter(([index]) => index <= last).sort(([a], [b]) => a - b);
    for (const [index, parts] of seconds) this.close(index, parts);
  }

  private close(index: number, parts: Interval[]): void {
    this.parts.delete(index);
    const totals = emptyTotals();
    const ttft = new LatencyHistogram(2);
    const endToEnd = new LatencyHistogram(2);
    let inFlight = 0;
    for (const part of parts) {
      addTotals(totals, part);
      ttft.add(LatencyHistogram.decode(part.ttft));
      endToEnd.add(LatencyHistogram.decode(part.endToEnd));
      inFlight += part.inFlight;
    }
    const startMs = index * 1000;
    const result: IntervalResult = {
      second: index,
      isMeasured:
        parts.every(({ isWhole }) => isWhole) &&
        startMs >= this.scenario.warmupMs &&
        startMs + 1000 <= this.scenario.durationMs,
      inFlight,
      ...totals,
      ...(ttft.count > 0 && { ttftP50: ttft.percentile(50), ttftP99: ttft.percentile(99) }),
      ...(endToEnd.count > 0 && {
        endToEndP50: endToEnd.percentile(50),
        endToEndP99: endToEnd.percentile(99),
      }),
    };
    this.done.push(result);
    this.report?.(result);
  }
}
