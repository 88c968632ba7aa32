import { z } from 'zod';

/** A whole number within bounds; the lower one is 0 unless given. `1e3` and `0x10` are refused: digits only. */
export function wholeNumber({ min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}) {
  return z
    .string()
    .regex(/^[+-]?\d+$/, 'must be a whole number, digits only')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));
}

/** What a timer can wait at most, some 24 days: it fires at once for more. */
const longestMs = 2_147_483_647;

/** Milliseconds, as many as a timer can wait; at least 0 unless given. */
export function durationMs({ min = 0 }: { min?: number } = {}) {
  return wholeNumber({ min, max: longestMs });
}

/** A TCP port; 0 lets the system choose one. */
export function port() {
  return wholeNumber({ max: 65_535 });
}

/** Names or addresses with commas between; spaces around them and empty ones don't count. */
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
