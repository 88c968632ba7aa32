import type { Json, JsonObject } from '@sluice/canonical';
import { unsatisfiable } from './json-resolve.ts';
import type { Random } from './random.ts';

const usualSpan = 100;
const attempts = 200;

interface Bound {
  value: number;
  isExclusive: boolean;
}

/** A number within the schema's bounds, and a multiple if it demands one. The default range is 0 to 100. */
export function generateNumber(schema: JsonObject, isInteger: boolean, random: Random): number {
  const low = boundOf(schema.minimum, schema.exclusiveMinimum, Math.max);
  const high = boundOf(schema.maximum, schema.exclusiveMaximum, Math.min);
  const step = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : undefined;
  if (step !== undefined) return multiple(step, isInteger, low, high, random);
  if (!isInteger) return fraction(low, high, random);
  return whole(1, low, high, random);
}

/** `exclusive` is a number or, as in OpenAPI 3.0, a flag for the other bound. */
function boundOf(
  inclusive: Json | undefined,
  exclusive: Json | undefined,
  tighter: (left: number, right: number) => number,
): Bound | undefined {
  const value = typeof inclusive === 'number' ? inclusive : undefined;
  if (typeof exclusive === 'number' && (value === undefined || tighter(value, exclusive) === exclusive)) {
    return { value: exclusive, isExclusive: true };
  }
  return value === undefined ? undefined : { value, isExclusive: exclusive === true };
}

/** A multiple of `step`, chosen as a whole number of steps. */
function whole(step: number, low: Bound | undefined, high: Bound | undefined, random: Random): number {
  const above = low && Math.ceil(low.value / step);
  const below = high && Math.floor(high.value / step);
  const from = above !== undefined && low?.isExclusive && above * step === low.value ? above + 1 : above;
  const to = below !== undefined && high?.isExclusive && below * step === high.value ? below - 1 : below;
  const start = from ?? Math.min(0, (to ?? 0) - (to !== undefined && to < 0 ? usualSpan : 0));
  const end = Math.min(to ?? Number.POSITIVE_INFINITY, start + usualSpan);
  if (end < start) throw unsatisfiable('a number in it has no room');
  return random.integer(start, end) * step;
}

function multiple(
  step: number,
  isInteger: boolean,
  low: Bound | undefined,
  high: Bound | undefined,
  random: Random,
): number {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const value = whole(step, low, high, random);
    // Some products, such as 29 × 0.01, are no longer multiples once they are rounded.
    if (Number.isInteger(value / step) && (!isInteger || Number.isInteger(value))) return value;
  }
  throw unsatisfiable('a multiple in it was not found');
}

function fraction(low: Bound | undefined, high: Bound | undefined, random: Random): number {
  const from = low?.value ?? (high === undefined ? 0 : Math.min(0, high.value - usualSpan));
  const to = Math.min(high?.value ?? Number.POSITIVE_INFINITY, from + usualSpan);
  if (to < from || (to === from && (low?.isExclusive || high?.isExclusive))) {
    throw unsatisfiable('a number in it has no room');
  }
  const exact = from + (to - from) * (0.05 + 0.9 * random.fraction());
  const rounded = Math.round(exact * 100) / 100;
  return rounded > from && rounded < to ? rounded : exact;
}
