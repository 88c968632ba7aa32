import { SluiceError } from '@sluice/canonical';

const unitMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The milliseconds of `250ms`, `1.5s`, `2m`, `1h`, `80us` or a bare number, which means milliseconds. */
export function parseDurationMs(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|h)?\s*$/.exec(text);
  if (!match?.[1]) throw new SluiceError('invalid-request', `not a duration: ${text}`);
  return Number(match[1]) * (unitMs[match[2] ?? 'ms'] ?? 1);
}

/** Milliseconds for a reader: three digits and the unit that fits. */
export function formatMs(value: number): string {
  if (value === 0) return '0 ms';
  if (value < 0.9995) return `${(value * 1000).toPrecision(3)} µs`;
  if (value < 999.5) return `${value.toPrecision(3)} ms`;
  if (value < 59_950) return `${(value / 1000).toPrecision(3)} s`;
  return `${(value / 60_000).toFixed(1)} min`;
}

/** Seconds as a clock: `1:05` or `1:02:05`. */
export function formatClock(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (parts[0] === 0) parts.shift();
  return parts.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}
