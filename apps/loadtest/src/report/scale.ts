/** How values are spread along an axis. */
export type ScaleKind = 'linear' | 'log' | 'percentile';

/** An axis: places values from 0 to 1 and names some of them. */
export interface Scale {
  place(value: number): number;
  ticks: readonly number[];
}

const percentileTicks = [50, 90, 99, 99.9, 99.99, 99.999];

/** A scale that holds all values. `percentile` stretches the tail: 90, 99 and 99.9 are equally far apart. */
export function createScale(kind: ScaleKind, values: readonly number[]): Scale {
  if (kind === 'percentile') return percentileScale(values);
  return kind === 'log' ? logScale(values) : linearScale(values);
}

/** Log where values span more than a factor of 30, else linear. */
export function fitScale(values: readonly number[]): ScaleKind {
  const positive = values.filter((value) => value > 0);
  return positive.length > 0 && Math.max(...positive) / Math.min(...positive) > 30 ? 'log' : 'linear';
}

function linearScale(values: readonly number[]): Scale {
  const step = niceStep(Math.max(...values, 0) / 5 || 0.2);
  const top = Math.max(step, Math.ceil(Math.max(...values, 0) / step - 1e-9) * step);
  // Rounded, since 3 × 0.2 is 0.6000000000000001.
  const tick = (at: number) => Number((at * step).toPrecision(12));
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => tick(at));
  return { place: (value) => value / top, ticks };
}

function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const [low, high] = positive.length > 0 ? [Math.min(...positive), Math.max(...positive)] : [1, 10];
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  return { place: (value) => Math.max(0, (Math.log10(Math.max(value, 1e-12)) - from) / (to - from)), ticks };
}

function percentileScale(values: readonly number[]): Scale {
  const depth = (percentile: number) => -Math.log10(Math.max(1e-9, 1 - percentile / 100));
  const deepest = Math.max(1, ...values.map(depth));
  return {
    place: (percentile) => depth(percentile) / deepest,
    ticks: percentileTicks.filter((tick) => depth(tick) <= deepest + 1e-9),
  };
}

/** The next of 1, 2 and 5 times a power of ten. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10;
  return factor * power;
}
