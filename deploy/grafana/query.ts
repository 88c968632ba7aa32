import type { Query } from './panel.ts';

/** Events per second, one line for each value of these labels. */
export const rate = (series: string, by: string) => `sum by (${by}) (rate(${series}[$__rate_interval]))`;
/** Events per second, all series together. */
export const total = (series: string) => `sum(rate(${series}[$__rate_interval]))`;

/**
 * One query for each quantile (such as 0.99) of a histogram. `by` splits the lines by a label; absent means all
 * together.
 */
export function quantiles(
  name: string,
  shares: readonly number[],
  { by, selector = '' }: { by?: string; selector?: string } = {},
): Query[] {
  const groups = by === undefined ? 'le' : `${by}, le`;
  return shares.map((share): Query => {
    const buckets = `sum by (${groups}) (rate(${name}_bucket${selector}[$__rate_interval]))`;
    const percentile = `p${share * 100}`;
    return {
      expression: `histogram_quantile(${share}, ${buckets})`,
      legend: by === undefined ? percentile : `${percentile} {{${by}}}`,
    };
  });
}

/** The selector of the pools that the reader of the dashboard chose. */
export const inPool = '{pool=~"$pool"}';
