import type { Check } from './limit.ts';
import type { Slot } from './names.ts';

/** A check and where it counts. */
export type Hold = Check & { readonly key: string };

/** What may be asked in one slot, as Redis reads it. Made once for all requests that ask the same. */
export interface CheckList {
  readonly slot: Slot;
  readonly holds: readonly Hold[];
  /** In JSON, as Redis is asked. */
  readonly asked: string;
  /** As a record keeps them, see scripts/ledger.lua: as little as can be, for Lua hashes all text that it touches. */
  readonly kept: string;
}

/** What a request asks for in one slot: so much of each check, in their order. */
export interface Part {
  readonly list: CheckList;
  readonly amounts: readonly number[];
}

export function checkList(slot: Slot, holds: readonly Hold[]): CheckList {
  const kept = holds.map((hold) => keptOf(hold, hold.key.slice(slot.length + 1)));
  return { slot, holds, asked: JSON.stringify(holds), kept: JSON.stringify(kept) };
}

function keptOf(hold: Hold, key: string): readonly unknown[] {
  if (hold.primitive === 'lease') return ['lease', key];
  if (hold.primitive === 'rate') return ['rate', key, hold.periodMs, hold.max, hold.settles];
  return hold.periodMs === undefined ? ['budget', key] : ['budget', key, hold.periodMs];
}

export function slotsOf(parts: readonly Part[]): Slot[] {
  return parts.map(({ list }) => list.slot);
}
