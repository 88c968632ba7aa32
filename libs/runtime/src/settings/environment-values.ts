import { z } from 'zod';
import { longestTimerMs } from '../time/clock.ts';

/** A whole number within bounds, at least 0 by default. Digits only: `1e3` and `0x10` are refused. */
export function wholeNumber({ min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}) {
  return z
    .string()
    .regex(/^[+-]?\d+$/, 'must be a whole number, digits only')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));
}

/** Milliseconds that a timer can wait, at least 0 by default. */
export function durationMs({ min = 0 }: { min?: number } = {}) {
  return wholeNumber({ min, max: longestTimerMs });
}

/** A TCP port; 0 lets the system choose one. */
export function port() {
  return wholeNumber({ max: 65_535 });
}

/** Names or addresses with commas between. Spaces around them and empty items are ignored. */
export function list() {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .pipe(z.array(z.string()));
}

/** Text that is masked wherever settings are printed. */
export function secretText() {
  return z.string().meta({ isSecret: true });
}
