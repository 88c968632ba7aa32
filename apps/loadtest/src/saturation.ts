/** A load that was tried. */
export interface Trial<Result> {
  rate: number;
  result: Result;
}

/** How to look for the saturation rate. */
export interface SearchOptions<Result> {
  fromRate: number;
  maxRate: number;
  /** The search ends when the bounds are this close, as a share of the rate. */
  precision: number;
  /** Tries a load; `isMet` tells whether it met the objective. */
  probe(rate: number): Promise<Result>;
  isMet(result: Result): boolean;
  /** Whether a load that missed the objective shows that no lower one will meet it. Absent: no load shows that. */
  isHopeless?(result: Result): boolean;
}

/** What a search found. */
export interface Saturation<Result> {
  /** The highest rate that met the objective; absent if none did. */
  best: Trial<Result> | undefined;
  trials: Trial<Result>[];
}

/** Below this share of the first rate a search gives up. */
const lowestShare = 1 / 128;

/**
 * Finds the highest rate that meets the objective: doubles the rate while it is met (halves it while it is not), then
 * halves the ratio between the bounds. Assumes that a higher load never meets an objective that a lower one missed.
 * Needs about log2(rate / fromRate) + log2(1 / precision) trials.
 */
export async function findSaturation<Result>(options: SearchOptions<Result>): Promise<Saturation<Result>> {
  const trials: Trial<Result>[] = [];
  let isHopeless = false;
  const attempt = async (rate: number): Promise<boolean> => {
    const result = await options.probe(rate);
    trials.push({ rate, result });
    const isMet = options.isMet(result);
    isHopeless = !isMet && options.isHopeless?.(result) === true;
    return isMet;
  };
  let low = 0;
  let high = Infinity;
  let rate = Math.min(options.fromRate, options.maxRate);
  while (low === 0 || high === Infinity) {
    const isMet = await attempt(rate);
    if (isMet) low = rate;
    else high = rate;
    if (isMet && rate >= options.maxRate) break;
    if (low === 0 && (isHopeless || rate <= options.fromRate * lowestShare)) break;
    if (low === 0) rate /= 2;
    else if (high === Infinity) rate = Math.min(rate * 2, options.maxRate);
  }
  while (low > 0 && high < Infinity && high / low > 1 + options.precision) {
    const middle = Math.sqrt(low * high);
    if (await attempt(middle)) low = middle;
    else high = middle;
  }
  return { best: trials.find((trial) => trial.rate === low), trials };
}
