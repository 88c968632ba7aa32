import { SluiceError } from '@sluice/canonical';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const shape = /^(\d+)(ms|s|m|h|d)$/;

/** Milliseconds of `500ms`, `90s`, `1m`, `24h` or `30d`. Throws `invalid-request` for anything else. */
export function parseDurationMs(text: string): number {
  const [, count, unit] = shape.exec(text) ?? [];
  // The pattern matches no other units.
  if (count && unit && Number(count) > 0) return Number(count) * unitMs[unit as keyof typeof unitMs];
  throw new SluiceError(
    'invalid-request',
    `${JSON.stringify(text)} is not a duration such as 90s, 1m, 24h or 30d`,
  );
}

/** The shortest text that `parseDurationMs` reads back. */
export function formatDuration(durationMs: number): string {
  const units = Object.entries(unitMs).reverse();
  const [unit, size] = units.find(([, ms]) => durationMs % ms === 0) ?? ['ms', 1];
  return `${durationMs / size}${unit}`;
}
