import { SluiceError } from '@sluice/canonical';
import { parseDurationMs } from './duration.ts';

/** The whole number of a flag. Throws `invalid-request` for anything else. */
export function wholeNumber(name: string, text: string, bounds: { from: number; to: number }): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.from && value <= bounds.to) return value;
  throw new SluiceError(
    'invalid-request',
    `--${name} is a whole number from ${bounds.from} to ${bounds.to}, not ${JSON.stringify(text)}`,
  );
}

/**
 * The milliseconds of a flag. It must have a unit, since a flag's name, unlike a field's, names none. Throws
 * `invalid-request`.
 */
export function timeMs(name: string, text: string): number {
  const isClear = text.trim() === '0' || /[a-z]\s*$/.test(text);
  try {
    if (isClear) return parseDurationMs(text);
  } catch {
    // Thrown below, with the flag's name.
  }
  throw new SluiceError(
    'invalid-request',
    `--${name} is a time with its unit, such as 250ms, 1.5s or 2m, not ${JSON.stringify(text)}`,
  );
}

/** JSON of a flag. Throws `invalid-request` that names it. */
export function jsonValue(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SluiceError('invalid-request', `--${name} is not JSON`, { cause });
  }
}
