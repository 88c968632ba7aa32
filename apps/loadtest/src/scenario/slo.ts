/** What a request must meet to count as good, in milliseconds; absent means no bound. */
export interface Slo {
  /** Time to first token; a single body has none and is not asked for it, a stream without one misses. */
  ttftMs?: number | undefined;
  /** Time per output token after the first. */
  tpotMs?: number | undefined;
  /** End to end. */
  endToEndMs?: number | undefined;
  /** The share of requests that must be good for a load to count as met, 0 to 1. */
  attainment: number;
}

/** A finished request's times, in milliseconds; absent means the answer had none. */
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
    // Who waits for a first token that never comes waits for longer than any bound.
    !(isEmptyStream && boundsTokens(slo)) &&
    within(times.ttftMs, slo.ttftMs) &&
    within(times.tpotMs, slo.tpotMs) &&
    within(times.endToEndMs, slo.endToEndMs)
  );
}

/** Whether it asks something of the tokens of streams, which single bodies do not have. */
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
