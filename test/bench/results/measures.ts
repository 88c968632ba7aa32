/** Everything that is measured of a contender. Times are milliseconds, CPU is microseconds, rates are per second. */
const measureNames = [
  'ttft1P50',
  'ttft1P99',
  'ttft32P50',
  'ttft32P99',
  'ttft256P50',
  'ttft256P99',
  'burstP50',
  'singleP50',
  'transitP50',
  'transitP99',
  'requestRate',
  'ingressPerRequest',
  'workerPerRequest',
  'redisPerRequest',
  'stackPerRequest',
  'tokenRate32',
  'tokenRate256',
  'ingressPerToken',
  'workerPerToken',
  'redisPerToken',
  'stackPerToken',
  'ingressPerLongToken',
  'workerPerLongToken',
  'redisPerLongToken',
  'stackPerLongToken',
  'stackPerRushToken',
  'memoryPerStream',
  'memoryPerStreamWithWorker',
  'drainMs',
  'idle1000Rate',
  'idle1000PerToken',
  'idle5000Rate',
  'idle5000PerToken',
  'idleMostRate',
  'idleMostPerToken',
  'twoRedisPerRequest',
  'twoPerToken',
  'fourRedisPerRequest',
  'fourPerToken',
  'twoRedisPerRequestOfOne',
  'twoPerTokenOfOne',
  'fourRedisPerRequestOfOne',
  'fourPerTokenOfOne',
] as const;
export type MeasureName = (typeof measureNames)[number];
/** What one measurement found. What could not be measured is absent. */
export type Measures = Partial<Record<MeasureName, number>>;

/** The median; the mean of the middle two of an even number of values. Undefined without values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  const lower = sorted[middle - 1];
  if (upper === undefined) return undefined;
  return sorted.length % 2 === 1 || lower === undefined ? upper : (lower + upper) / 2;
}

/** Each measure's median over rounds. */
export function medians(rounds: readonly Measures[]): Measures {
  const result: Measures = {};
  for (const name of measureNames) {
    const value = median(rounds.flatMap((measures) => measures[name] ?? []));
    if (value !== undefined) result[name] = value;
  }
  return result;
}
