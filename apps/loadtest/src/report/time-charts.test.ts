import { describe, expect, it } from 'vitest';
import { emptyTotals } from '../measures/recorder.ts';
import type { IntervalResult, RunResult } from '../measures/result.ts';
import { emptyRun, result } from './test-result.ts';
import { timeCharts } from './time-charts.ts';

function seconds(count: number, changes: (second: number) => Partial<IntervalResult> = () => ({})) {
  const base = { ...emptyTotals(), isMeasured: true, inFlight: 1, offered: 20, ok: 20, good: 20 };
  return Array.from({ length: count }, (_, second) => ({ ...base, second, ...changes(second) }));
}

function run(planned: { durationMs: number; warmupMs?: number }, intervals: IntervalResult[]): RunResult {
  const { scenario, ...rest } = result('a', { intervals });
  return { ...rest, scenario: { ...scenario, ...planned } };
}

const line = (found: RunResult, chart: number, name: string) =>
  timeCharts([found])[chart]?.series.find((series) => series.name === name)?.points ?? [];

describe('a run over time', () => {
  it('leaves out the last second, of which there was but a part', () => {
    expect(line(run({ durationMs: 3_000 }, seconds(4)), 0, 'good')).toEqual([
      [0, 20],
      [1, 20],
      [2, 20],
    ]);
  });

  it('keeps a last second that is whole', () => {
    expect(line(run({ durationMs: 1_000 }, seconds(1)), 0, 'good')).toEqual([[0, 20]]);
  });

  it('has no chart without anything to draw', () => {
    expect(timeCharts([run({ durationMs: 500 }, seconds(1))])).toEqual([]);
    const failed = run(
      { durationMs: 2_000 },
      seconds(2, () => ({ ok: 0, good: 0, failed: 20 })),
    );
    expect(timeCharts([{ ...failed, metrics: emptyRun() }]).map(({ title }) => title)).toEqual([
      'a: requests',
    ]);
  });

  it('marks the warm-up', () => {
    const chart = timeCharts([run({ durationMs: 5_000, warmupMs: 2_000 }, seconds(5))])[0];
    expect(chart?.shade).toEqual({ to: 2, name: 'warm-up' });
    expect(timeCharts([run({ durationMs: 5_000 }, seconds(5))])[0]).not.toHaveProperty('shade');
  });

  it('draws a long run in few points, in which no stall is lost', () => {
    const hours = 8 * 3600;
    const stall = (second: number) => ({
      ttftP50: 10,
      ttftP99: second === 5_000 ? 9_000 : 20,
      offered: second % 2,
    });
    const found = run({ durationMs: hours * 1000 }, seconds(hours, stall));
    const offered = line(found, 0, 'offered');
    expect(offered.length).toBeLessThanOrEqual(600);
    for (const [, rate] of offered) expect(rate).toBeCloseTo(0.5, 1);
    expect(Math.max(...line(found, 1, 'TTFT p99').map(([, ms]) => ms))).toBe(9_000);
    expect(line(found, 1, 'TTFT p50')[0]?.[1]).toBeCloseTo(10, 9);
    const [chart] = timeCharts([found]);
    expect(chart?.xLabel).toBe('time (h), points of 60 s');
    expect(offered.at(-1)?.[0]).toBeCloseTo(8, 1);
  });

  it('counts in minutes what lasted some', () => {
    const found = run({ durationMs: 600_000 }, seconds(600));
    expect(timeCharts([found])[0]?.xLabel).toBe('time (min)');
    expect(line(found, 0, 'good')[90]?.[0]).toBe(1.5);
  });
});
