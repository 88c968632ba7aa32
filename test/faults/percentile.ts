/** The value that this share (0 to 1) of all values does not exceed; absent without values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** Milliseconds for a table; a dash where nothing was measured. */
export function formatMs(value: number | undefined): string {
  return value === undefined ? '-' : `${Math.round(value)} ms`;
}
