import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatClock, formatMs, parseDurationMs } from './duration.ts';

describe('a duration for a reader', () => {
  it.each([
    [0, '0 ms'],
    [0.028, '28.0 µs'],
    [0.1, '100 µs'],
    [0.12, '120 µs'],
    [0.9994, '999 µs'],
    [0.9996, '1.00 ms'],
    [9.996, '10.0 ms'],
    [99.96, '100 ms'],
    [999.6, '1.00 s'],
    [59_949, '59.9 s'],
    [90_000, '1.5 min'],
  ])('%s ms is %s', (value, text) => expect(formatMs(value)).toBe(text));

  it('is never further off than its three digits', () => {
    const units: Record<string, number> = { µs: 0.001, ms: 1, s: 1000, min: 60_000 };
    const value = fc.double({ min: 0.0001, max: 600_000, noNaN: true });
    fc.assert(
      fc.property(value, (ms) => {
        const [digits, unit] = formatMs(ms).split(' ');
        const shown = Number(digits) * (units[unit ?? ''] ?? Number.NaN);
        expect(Math.abs(shown - ms)).toBeLessThanOrEqual(ms < 59_950 ? ms * 0.00501 : 3_000);
      }),
    );
  });
});

describe('a duration that is written down', () => {
  it.each([
    ['250ms', 250],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['80us', 0.08],
    [' 7 ', 7],
  ])('%s is %s ms', (text, ms) => expect(parseDurationMs(text)).toBeCloseTo(ms, 9));

  it.each(['', 'soon', '1d', '-1s', '1 2'])('is refused: %j', (text) => {
    expect(() => parseDurationMs(text)).toThrow(/not a duration/);
  });
});

it.each([
  [0, '0:00'],
  [64_600, '1:05'],
  [3_725_000, '1:02:05'],
])('%s ms on a clock are %s', (ms, text) => expect(formatClock(ms)).toBe(text));
