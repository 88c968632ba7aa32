import { median } from './measures.ts';

/** Measures all sides, in alternating order from turn to turn, so that a drift of the machine favours none. */
export async function inTurn<Side, Found>(
  turn: number,
  sides: readonly Side[],
  measure: (side: Side) => Promise<Found>,
): Promise<Found[]> {
  const found: Found[] = [];
  const order = [...sides.entries()];
  if (turn % 2 === 0) order.reverse();
  for (const [at, side] of order) found[at] = await measure(side);
  return found;
}

/** What each side costs in each of so many turns: `[turn][side]`. */
export async function measureInTurns<Side, Found>(
  turns: number,
  sides: readonly Side[],
  measure: (side: Side) => Promise<Found>,
): Promise<Found[][]> {
  const found: Found[][] = [];
  for (let turn = 1; turn <= turns; turn++) found.push(await inTurn(turn, sides, measure));
  return found;
}

/**
 * The median over turns of what `side` took as a multiple of what `base` took in the same turn. Turns in which one of
 * the two was not measured do not count; undefined if none is left.
 */
export function ratioInTurns<Found>(
  turns: readonly (readonly Found[])[],
  read: (found: Found) => number | undefined,
  side: number,
  base: number,
): number | undefined {
  const ratios = turns.flatMap((found) => {
    const [of, to] = [found[side], found[base]].map((each) => (each === undefined ? undefined : read(each)));
    return of === undefined || to === undefined ? [] : [of / to];
  });
  return median(ratios);
}
