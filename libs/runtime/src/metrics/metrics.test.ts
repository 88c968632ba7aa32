import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { outcomes } from './labels.ts';
import { beginAtZero, renderMetrics } from './metric-set.ts';
import { createIngressMetrics, createWorkerMetrics, describeMetrics } from './metrics.ts';

async function samples(registry: Registry): Promise<Map<string, number>> {
  const { body } = await renderMetrics(registry);
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('counters', () => {
  it('count by labels', async () => {
    const metrics = createIngressMetrics(new Registry());
    metrics.requests.inc({ format: 'openai', outcome: 'ok' });
    metrics.requests.inc({ format: 'openai', outcome: 'rate-limited' }, 2);
    metrics.slowReaders.inc();
    metrics.slowReaders.inc(3);
    const seen = await samples(metrics.registry);
    expect(seen.get('sluice_requests_total{format="openai",outcome="ok"}')).toBe(1);
    expect(seen.get('sluice_requests_total{format="openai",outcome="rate-limited"}')).toBe(2);
    expect(seen.get('sluice_slow_readers_total')).toBe(4);
  });

  it('go on between scrapes, and are never counted back', async () => {
    const metrics = createIngressMetrics(new Registry());
    metrics.tokens.inc({ model: 'a', direction: 'input' }, 5);
    await samples(metrics.registry);
    for (const by of [2, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      metrics.tokens.inc({ direction: 'input', model: 'a' }, by);
    }
    await samples(metrics.registry);
    expect((await samples(metrics.registry)).get('sluice_tokens_total{model="a",direction="input"}')).toBe(7);
  });

  it('with closed labels start at 0, so that a rate sees the first event', async () => {
    const seen = await samples(createIngressMetrics(new Registry()).registry);
    expect(seen.get('sluice_frames_dropped_total{reason="old-attempt"}')).toBe(0);
    expect(seen.get('sluice_attempts_total{reason="silent"}')).toBe(0);
    expect(seen.get('sluice_slow_readers_total')).toBe(0);
  });
});

describe('counters whose labels are known at the start', () => {
  it('begin at 0 with every combination of them', async () => {
    const metrics = createIngressMetrics(new Registry());
    beginAtZero(metrics.requests, { format: ['openai', 'gemini'], outcome: ['ok', 'internal'] });
    metrics.requests.inc({ format: 'openai', outcome: 'internal' });
    const seen = await samples(metrics.registry);
    expect([...seen].filter(([series]) => series.startsWith('sluice_requests_total'))).toEqual([
      ['sluice_requests_total{format="openai",outcome="ok"}', 0],
      ['sluice_requests_total{format="openai",outcome="internal"}', 1],
      ['sluice_requests_total{format="gemini",outcome="ok"}', 0],
      ['sluice_requests_total{format="gemini",outcome="internal"}', 0],
    ]);
  });
});

describe('gauges', () => {
  it('are set, moved, or read at the scrape', async () => {
    const metrics = createIngressMetrics(new Registry());
    let connections = 3;
    metrics.queueDepth.set({ pool: 'a' }, 5);
    metrics.requestsInFlight.inc({ format: 'gemini' }, 2);
    metrics.requestsInFlight.dec({ format: 'gemini' });
    metrics.openConnections.readFrom(() => connections);
    metrics.poolSlots.readFrom({ pool: 'a' }, () => 8);
    metrics.poolSlots.readFrom({ pool: 'b' }, () => 9);
    connections = 4;
    const seen = await samples(metrics.registry);
    expect(seen.get('sluice_queue_depth{pool="a"}')).toBe(5);
    expect(seen.get('sluice_requests_in_flight{format="gemini"}')).toBe(1);
    expect(seen.get('sluice_open_connections')).toBe(4);
    expect(seen.get('sluice_pool_slots{pool="a"}')).toBe(8);
    expect(seen.get('sluice_pool_slots{pool="b"}')).toBe(9);
  });
});

describe('durations', () => {
  it('have buckets up to the longest time that requests may wait', async () => {
    const metrics = createIngressMetrics(new Registry());
    metrics.timeToFirstToken.observe({ format: 'openai', model: 'x' }, 599_000);
    metrics.queueWait.observe({ pool: 'x' }, 599_000);
    metrics.interTokenLatency.observe({ format: 'openai' }, 59_000);
    metrics.timePerOutputToken.observe({ format: 'openai' }, 59_000);
    const seen = await samples(metrics.registry);
    const last = (name: string, labels: string, le: string) =>
      seen.get(`${name}_bucket{le="${le}",${labels}}`);
    expect([
      last('sluice_time_to_first_token_seconds', 'format="openai",model="x"', '600'),
      last('sluice_queue_wait_seconds', 'pool="x"', '600'),
      last('sluice_inter_token_latency_seconds', 'format="openai"', '60'),
      last('sluice_time_per_output_token_seconds', 'format="openai"', '60'),
    ]).toEqual([1, 1, 1, 1]);
  });

  it('print their labels as the text format demands, whatever they contain', async () => {
    const metrics = createIngressMetrics(new Registry());
    metrics.timeToFirstToken.observe({ format: 'openai', model: 'a "b" \\ c\nd' }, 1_500);
    const seen = await samples(metrics.registry);
    const labels = 'format="openai",model="a \\"b\\" \\\\ c\\nd"';
    expect(seen.get(`sluice_time_to_first_token_seconds_bucket{le="+Inf",${labels}}`)).toBe(1);
    expect(seen.get(`sluice_time_to_first_token_seconds_sum{${labels}}`)).toBe(1.5);
    expect(seen.get(`sluice_time_to_first_token_seconds_count{${labels}}`)).toBe(1);
  });

  it('are observed in milliseconds and exported in seconds, in cumulative buckets with inclusive bounds', async () => {
    const metrics = createIngressMetrics(new Registry());
    const series = metrics.interTokenLatency.child({ format: 'openai' });
    for (const durationMs of [0, 5, 5.1, 2_500, 9_000]) series.observe(durationMs);
    metrics.interTokenLatency.observe({ format: 'openai' }, 1);
    const seen = await samples(metrics.registry);
    const bucket = (le: string) =>
      seen.get(`sluice_inter_token_latency_seconds_bucket{le="${le}",format="openai"}`);
    expect(['0.001', '0.005', '0.01', '1', '2.5', '+Inf'].map(bucket)).toEqual([2, 3, 4, 4, 5, 6]);
    expect(seen.get('sluice_inter_token_latency_seconds_count{format="openai"}')).toBe(6);
    expect(seen.get('sluice_inter_token_latency_seconds_sum{format="openai"}')).toBeCloseTo(11.5111, 9);
  });

  it('that make no sense are ignored', async () => {
    const metrics = createIngressMetrics(new Registry());
    const series = metrics.queueWait.child({ pool: 'a' });
    for (const durationMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) series.observe(durationMs);
    expect((await samples(metrics.registry)).get('sluice_queue_wait_seconds_count{pool="a"}')).toBe(0);
  });

  it('of different labels are counted separately', async () => {
    const metrics = createIngressMetrics(new Registry());
    metrics.timeToFirstToken.observe({ format: 'openai', model: 'a' }, 1);
    metrics.timeToFirstToken.observe({ model: 'b', format: 'openai' }, 1);
    metrics.timeToFirstToken.observe({ model: 'a', format: 'openai' }, 1);
    const seen = await samples(metrics.registry);
    expect(seen.get('sluice_time_to_first_token_seconds_count{format="openai",model="a"}')).toBe(2);
    expect(seen.get('sluice_time_to_first_token_seconds_count{format="openai",model="b"}')).toBe(1);
  });
});

it('a registry of its own also holds the metrics of the process', async () => {
  const { contentType, body } = await renderMetrics(createWorkerMetrics().registry);
  expect(contentType).toContain('text/plain');
  expect(body).toContain('process_cpu_seconds_total');
  // The alert of a process that runs out of files divides them. They are read from /proc.
  const files = [...body.matchAll(/^process_(open|max)_fds [1-9]/gm)].map(([, which]) => which);
  expect(files.sort()).toEqual(process.platform === 'linux' ? ['max', 'open'] : []);
  expect(body).toContain('# TYPE sluice_generation_duration_seconds histogram');
});

it('every metric is described once, with prefix, unit and closed labels', () => {
  const rows = describeMetrics();
  expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
  for (const row of rows) {
    expect(row.name).toMatch(/^sluice_/);
    expect(row.name.endsWith('_total')).toBe(row.type === 'counter');
    expect(row.name.endsWith('_seconds')).toBe(row.type === 'histogram');
    expect(row.help).not.toBe('');
    for (const label of row.labels) {
      expect([
        'format',
        'model',
        'outcome',
        'pool',
        'limit',
        'reason',
        'direction',
        'from',
        'to',
        'fallback',
        'version',
      ]).toContain(label.name);
    }
  }
  expect(rows.find((row) => row.name === 'sluice_requests_total')).toEqual({
    process: 'ingress',
    name: 'sluice_requests_total',
    type: 'counter',
    labels: [
      { name: 'format', values: 'the registered formats' },
      { name: 'outcome', values: outcomes.join(', ') },
    ],
    help: 'Requests that ended, without probes (/livez, /readyz, and those of coding CLIs)',
  });
  expect(rows.find((row) => row.name === 'sluice_redis_up')?.process).toBe('both');
  expect(rows.find((row) => row.name === 'sluice_engine_up')?.process).toBe('worker');
});

describe('durations of a request', () => {
  it.each([
    ['timeToFirstToken', 'sluice_time_to_first_token_seconds', 0.04, 30],
    ['queueWait', 'sluice_queue_wait_seconds', 0.1, 30],
    ['timePerOutputToken', 'sluice_time_per_output_token_seconds', 0.005, 1],
    ['requestDuration', 'sluice_request_duration_seconds', 0.16, 160],
  ] as const)('are told apart where they differ by half: %s', async (metric, name, from, to) => {
    const { registry, [metric]: duration } = createIngressMetrics(new Registry());
    duration.observe({ format: 'openai', model: 'sim', outcome: 'ok', pool: 'sim' }, 1);
    const bounds = [...(await samples(registry)).keys()]
      .filter((series) => series.startsWith(`${name}_bucket`))
      .map((series) => Number(/le="([\d.]+)"/.exec(series)?.[1]))
      .filter((bound) => bound >= from && bound <= to);
    expect([bounds.length > 10, bounds.includes(from)]).toEqual([true, true]);
    const coarse = bounds.filter((bound, index) => index > 0 && bound / (bounds[index - 1] ?? 0) > 1.5001);
    expect(coarse).toEqual([]);
  });
});
