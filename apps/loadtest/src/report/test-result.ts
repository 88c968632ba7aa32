import { emptyMetrics, emptyTotals } from '../measures/recorder.ts';
import { metricResult, type RunResult } from '../measures/result.ts';
import { parseScenario } from '../scenario/scenario.ts';

/** A result for tests of reports: 200 requests in 10 s, unless changed. */
export function result(name: string, changes: Partial<RunResult> = {}): RunResult {
  const metrics = emptyMetrics();
  for (let ms = 1; ms <= 200; ms++)
    for (const metric of ['ttft', 'endToEnd'] as const) metrics[metric].record(ms);
  const entries = Object.entries(metrics).map(([key, histogram]) => [key, metricResult(histogram)]);
  const second = { ...emptyTotals(), isMeasured: true, inFlight: 1, offered: 20, ok: 20, good: 19 };
  return {
    version: 1,
    name,
    startedAt: '2026-11-21T09:00:00.000Z',
    scenario: { ...parseScenario({}), keys: 2 },
    measuredMs: 10_000,
    totals: { ...emptyTotals(), offered: 200, ok: 200, asked: 200, good: 190, tokens: 2000 },
    rates: { offered: 20, ok: 20, good: 19, refused: 0, failed: 0, tokens: 200 },
    attainment: 0.95,
    meetsSlo: false,
    metrics: Object.fromEntries(entries),
    correction: { by: 'intended-instant' },
    errors: {},
    intervals: [0, 1, 2].map((at) => ({ ...second, second: at, ttftP50: 10, ttftP99: 20 + at })),
    client: {
      processes: [{ cpuShare: 0.2, loopShare: 0.2, loopDelayP99Ms: 1, machineShare: 0.4 }],
      connectionsOpened: 3,
      requestsRepeated: 0,
      isBottleneck: false,
      findings: [],
    },
    ...changes,
  };
}

/** A point of a search for tests of reports. */
export const point = (rate: number, goodRate: number, refusedRate: number) => ({
  phase: 'search' as const,
  offeredRate: rate,
  okRate: goodRate,
  goodRate,
  refusedRate,
  failedRate: 0,
  attainment: goodRate / rate,
  meetsSlo: refusedRate === 0,
  ttftP50: 10,
  ttftP99: 100,
  endToEndP50: 20,
  endToEndP99: 200,
  isClientBottleneck: false,
});

/** The metrics of a run that measured nothing. */
export function emptyRun(): RunResult['metrics'] {
  const entries = Object.entries(emptyMetrics()).map(([key, histogram]) => [key, metricResult(histogram)]);
  return Object.fromEntries(entries);
}
