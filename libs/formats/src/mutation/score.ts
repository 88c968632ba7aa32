/** A share in percent, with the bounds of its 95 % interval if it was taken from a sample. */
export interface Score {
  percent: number;
  low: number;
  high: number;
}

const deviations = 1.96;

/**
 * The share of mutants that were noticed, with Wilson's interval. If all were judged, both bounds are the share itself.
 */
export function scoreOf(noticed: number, judged: number, isSample: boolean): Score {
  const share = judged === 0 ? 0 : noticed / judged;
  const percent = share * 100;
  if (!isSample || judged === 0) return { percent, low: percent, high: percent };
  const square = deviations ** 2 / judged;
  const middle = share + square / 2;
  const reach = deviations * Math.sqrt((share * (1 - share)) / judged + square / (4 * judged));
  const bound = (sign: number) => (100 * (middle + sign * reach)) / (1 + square);
  return { percent, low: bound(-1), high: bound(1) };
}
