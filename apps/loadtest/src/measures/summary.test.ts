import { expect, it } from 'vitest';
import { result } from '../report/test-result.ts';
import { emptyMetrics, metricNames } from './recorder.ts';
import { metricResult } from './result.ts';
import { metricTitles, summarizeRun } from './summary.ts';

it('fits its figures into a terminal of 80 columns, however large they are', () => {
  const metrics = emptyMetrics();
  for (const name of metricNames) metrics[name].recordMany(3_600_000, 1_234_567_890);
  const entries = metricNames.map((name) => [name, metricResult(metrics[name])]);
  const lines = summarizeRun(result('large', { metrics: Object.fromEntries(entries) })).split('\n');
  for (const name of metricNames)
    expect(lines).toContainEqual(expect.stringMatching(`^${metricTitles[name]} .* 60.0 min 1234567890$`));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});
