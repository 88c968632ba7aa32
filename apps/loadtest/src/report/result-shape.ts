import { z } from 'zod';
import { LatencyHistogram } from '../measures/histogram.ts';
import { emptyTotals, metricNames } from '../measures/recorder.ts';
import { metricResult } from '../measures/result.ts';

const number = z.number();
const counts = z.record(z.string(), number);

/** An object with a field of this shape for each name, and whatever else. */
function each<Field extends z.ZodType>(names: readonly string[], field: Field) {
  return z.looseObject(Object.fromEntries(names.map((name) => [name, field])));
}

const metric = z.looseObject({
  count: number,
  mean: number,
  min: number,
  max: number,
  percentiles: counts,
  hdr: z.string().refine(isHistogram, 'not a histogram'),
});

function isHistogram(text: string): boolean {
  try {
    LatencyHistogram.decode(text);
    return true;
  } catch {
    return false;
  }
}

const totals = each(Object.keys(emptyTotals()), number);
const latencies = {
  ttftP50: number.optional(),
  ttftP99: number.optional(),
  endToEndP50: number.optional(),
  endToEndP99: number.optional(),
};

const load = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('open'), profile: z.looseObject({ kind: z.string() }) }),
  z.looseObject({ kind: z.literal('closed') }),
  z.looseObject({ kind: z.literal('trace') }),
]);

const correction = z.discriminatedUnion('by', [
  z.looseObject({ by: z.literal('intended-instant') }),
  z.looseObject({
    by: z.literal('expected-interval'),
    intervalMs: number,
    estimate: z.looseObject({ ttft: metric, endToEnd: metric }).optional(),
  }),
]);

const point = z.looseObject({
  phase: z.enum(['search', 'beyond']),
  offeredRate: number,
  okRate: number,
  goodRate: number,
  refusedRate: number,
  failedRate: number,
  attainment: number,
  meetsSlo: z.boolean(),
  fallsBehind: z.literal(true).optional(),
  errors: counts.optional(),
  ...latencies,
  isClientBottleneck: z.boolean(),
});

/** All of a result that reports are made of. */
export const resultShape = z.looseObject({
  version: z.literal(1),
  name: z.string(),
  startedAt: z.string(),
  scenario: z.looseObject({
    target: z.string(),
    load,
    traffic: z.array(z.looseObject({ model: z.string(), format: z.string() })),
    slo: z.looseObject({ attainment: number }),
  }),
  measuredMs: number,
  totals,
  rates: each(['offered', 'ok', 'good', 'refused', 'failed', 'tokens'], number),
  attainment: number,
  meetsSlo: z.boolean(),
  fallsBehind: z.looseObject({ firstHalfMs: number, secondHalfMs: number }).optional(),
  metrics: each(metricNames, metric).extend({
    // Results of versions before 28 November 2026 have none.
    connect: metric.default(() => ({ ...metricResult(new LatencyHistogram()) })),
  }),
  correction,
  errors: counts,
  intervals: z.array(
    totals.extend({ second: number, isMeasured: z.boolean(), inFlight: number, ...latencies }),
  ),
  client: z.looseObject({
    processes: z.array(each(['cpuShare', 'loopShare', 'loopDelayP99Ms', 'machineShare'], number)).min(1),
    connectionsOpened: number,
    requestsRepeated: number,
    isBottleneck: z.boolean(),
    findings: z.array(z.string()),
  }),
  search: z.looseObject({ saturationRate: number, points: z.array(point) }).optional(),
});
