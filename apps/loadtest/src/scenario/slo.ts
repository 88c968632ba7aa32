/** The bounds that a good request must meet, in milliseconds; absent: no bound. */
export interface Slo {
  /** Time to first token. It does not apply to single bodies; a stream without any token misses it. */
  ttftMs?: number | undefined;
  /** Time per output token after the first. */
  tpotMs?: number | undefined;
  /** End to end. */
  endToEndMs?: number | undefined;
  /** The share of requests that must be good for a load to count as met, 0 to 1. */
  attainment: number;
}

/** A finished request's times, in milliseconds; absent: the answer had none. */
export interface RequestTimes {
  ttftMs?: number | undefined;
  tpotMs?: number | undefined;
  endToEndMs: number;
  isStream: boolean;
}

/** Whether a successful request was good. */
export function isGood(slo: Slo, times: RequestTimes): boolean {
  const isEmptyStream = times.isStream && times.ttftMs === undefined;
  return (
    // The wait for a first token that never comes is longer than any bound.
    !(isEmptyStream && boundsTokens(slo)) &&
    within(times.ttftMs, slo.ttftMs) &&
    within(times.tpotMs, slo.tpotMs) &&
    within(times.endToEndMs, slo.endToEndMs)
  );
}

/** Whether it bounds the times of tokens, which single bodies do not have. */
export function boundsTokens({ ttftMs, tpotMs }: Pick<Slo, 'ttftMs' | 'tpotMs'>): boolean {
  return (ttftMs ?? tpotMs) !== undefined;
}

/** The objective in words, for a reader. */
export function describeSlo(slo: Slo): string {
  const bounds = [
    slo.ttftMs === undefined ? '' : `TTFT ≤ ${slo.ttftMs} ms`,
    slo.tpotMs === undefined ? '' : `TPOT ≤ ${slo.tpotMs} ms`,
    slo.endToEndMs === undefined ? '' : `end to end ≤ ${slo.endToEndMs} ms`,
  ].filter((bound) => bound !== '');
  return `${bounds.length === 0 ? 'success' : bounds.join(', ')} for ${+(slo.attainment * 100).toFixed(3)} % of requests`;
}

function within(value: number | undefined, bound: number | undefined): boolean {
  return value === undefined || bound === undefined || value <= bound;
}
