import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorText } from '../error-text.ts';
import { LatencyHistogram } from '../measures/histogram.ts';
import { metricNames } from '../measures/recorder.ts';
import { metricResult } from '../measures/result.ts';
import { readResult, writeResult } from './result-file.ts';
import { point, result } from './test-result.ts';

let file = '';
beforeAll(async () => {
  file = join(await mkdtemp(join(tmpdir(), 'result-')), 'a.json');
});
afterAll(() => rm(join(file, '..'), { recursive: true }));

const empty = metricResult(new LatencyHistogram());
const whole = result('whole', {
  correction: { by: 'expected-interval', intervalMs: 5, estimate: { ttft: empty, endToEnd: empty } },
  search: { saturationRate: 50, points: [{ ...point(50, 50, 0), errors: { timeout: 1 } }] },
});

/** What is said of a result without the field at this path, or with this value there. */
async function refusal(path: string, value?: unknown): Promise<string> {
  const damaged: unknown = JSON.parse(JSON.stringify(whole));
  const names = path.split('.');
  const last = names.pop() ?? '';
  // The paths of these tests lead through objects.
  const parent = names.reduce(
    (at, name) => at[name] as Record<string, unknown>,
    damaged as Record<string, unknown>,
  );
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  await writeFile(file, JSON.stringify(damaged));
  return readResult(file).then(() => 'taken', errorText);
}

describe('the file of a result', () => {
  it('brings back what was written', async () => {
    await writeResult(file, whole);
    expect(await readResult(file)).toEqual(whole);
  });

  it('may be of a version that kept less of a search', async () => {
    const older = result('older', { search: { saturationRate: 50, points: [point(50, 50, 0)] } });
    await writeResult(file, older);
    expect(await readResult(file)).toEqual(older);
  });

  it('may be of a version that did not measure how long it took to connect', async () => {
    const { connect, ...metrics } = whole.metrics;
    await writeFile(file, JSON.stringify({ ...whole, metrics }));
    expect(connect.count).toBe(0);
    expect(await readResult(file)).toEqual(whole);
  });

  it.each([
    ...Object.keys(whole).filter((name) => name !== 'search'),
    ...metricNames.filter((name) => name !== 'connect').map((name) => `metrics.${name}`),
    'totals.asked',
    'rates.ok',
    'scenario.target',
    'scenario.slo',
    'scenario.load',
    'correction.by',
    'correction.estimate.ttft',
    'metrics.ttft.percentiles',
    'metrics.ttft.hdr',
    'intervals.0.second',
    'intervals.1.offered',
    'client.findings',
    'search.points',
    'search.points.0.failedRate',
  ])('is refused by its name if it lacks %s', async (path) => {
    expect(await refusal(path)).toContain(`a.json is not a result of this load test: ${path}`);
  });

  it.each([
    ['metrics.endToEnd.hdr', 'SFlTVEZBQUFB', 'not a histogram'],
    ['metrics.endToEnd.hdr', '', 'not a histogram'],
    ['client.processes', [], 'Too small'],
    ['startedAt', 7, 'expected string'],
    ['errors', { timeout: 'many' }, 'expected number'],
  ])('is refused if %s is %j', async (path, value, reason) => {
    expect(await refusal(path, value)).toMatch(
      new RegExp(`not a result of this load test: ${path}.*${reason}`),
    );
  });
});
