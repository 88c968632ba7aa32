/** A fall below this is none. */
const tolerance = 0.03;
/** One warm-up may be dear by chance, so two in a row have to be no cheaper than what came before them. */
const patience = 2;
const mostWarmUps = 8;

/**
 * Whether a contender is warm, by what its warm-ups cost, in order: the last two were no cheaper than one before. V8
 * goes on compiling for half a minute of a load, in which a request gets cheaper by a third. Also true once more would
 * take too long, or if the last cost is not known.
 */
export function hasSettled(costs: readonly (number | undefined)[]): boolean {
  if (costs.length >= mostWarmUps) return true;
  if (costs.at(-1) === undefined) return costs.length > 0;
  const least = Math.min(...costs.slice(0, -patience).map((cost) => cost ?? Number.POSITIVE_INFINITY));
  return costs.slice(-patience).every((cost) => cost !== undefined && cost > least * (1 - tolerance));
}
