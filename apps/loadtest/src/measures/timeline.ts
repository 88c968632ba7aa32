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
  private processes: number;

  constructor(scenario: Scenario, report: ((interval: IntervalResult) => void) | undefined) {
    this.scenario = scenario;
    this.report = report;
    this.processes = scenario.processes;
  }

  add(interval: Interval): void {
    const parts = this.parts.get(interval.index) ?? [];
    parts.push(interval);
    this.parts.set(interval.index, parts);
    if (parts.length >= this.processes) this.close(interval.index, parts);
  }

  /** A process died, so one less will report. */
  lose(): void {
    this.processes -= 1;
  }

  finish(): IntervalResult[] {
    for (const [index, parts] of this.parts) this.close(index, parts);
    return this.done.sort((a, b) => a.second - b.second);
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
