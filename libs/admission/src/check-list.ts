import type { Check } from './limit.ts';
import type { Slot } from './names.ts';

/** A check and where it counts. */
export type Hold = Check & { readonly key: string };

/** What may be asked in one slot, as Redis reads it. Made once for all requests that ask the same. */
export interface CheckList {
  readonly slot: Slot;
  readonly holds: readonly Hold[];
  readonly json: string;
}

/** What a request asks for in one slot: so much of each check, in their order. */
export interface Part {
  readonly list: CheckList;
  readonly amounts: readonly number[];
}

export function checkList(slot: Slot, holds: readonly Hold[]): CheckList {
  return { slot, holds, json: JSON.stringify(holds) };
}

export function slotsOf(parts: readonly Part[]): Slot[] {
  return parts.map(({ list }) => list.slot);
}
