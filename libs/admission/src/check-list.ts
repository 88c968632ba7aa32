import { assertNever } from '@sluice/canonical';
import type { Check } from './limit.ts';
import type { Book } from './names.ts';

/** A check with the Redis key of its count. */
export type Hold = Check & { readonly key: string };

/** The checks of one book, encoded as the scripts read them. Built once for all requests with the same checks. */
export interface CheckList {
  readonly book: Book;
  readonly holds: readonly Hold[];
  /** The checks as JSON, as scripts/reserve.lua reads them. */
  readonly asked: string;
  /**
   * The checks as a record keeps them, see scripts/ledger.lua. As short as possible, because Lua hashes every string,
   * but not shorter than `leastKept`.
   */
  readonly kept: string;
  /** The keys of its leases as JSON, as scripts/renew.lua reads them. */
  readonly leases: string;
}

/** What a request asks for in one book: an amount for each check, in their order. */
export interface Part {
  readonly list: CheckList;
  readonly amounts: readonly number[];
}

/**
 * A hash of at most 128 values of at most 64 bytes is a list in Redis, which it searches from the front: with a hundred
 * open requests, that took 4 µs of each. One longer value makes it a table.
 */
const leastKept = 64;

/** Encodes the checks of a book. */
export function checkList(book: Book, holds: readonly Hold[]): CheckList {
  const kept = holds.map((hold) => keptOf(hold, hold.key.slice(book.length + 1)));
  const leases = holds.flatMap(({ primitive, key }) => (primitive === 'lease' ? [key] : []));
  return {
    book,
    holds,
    asked: JSON.stringify(holds),
    kept: JSON.stringify(kept).padEnd(leastKept),
    leases: JSON.stringify(leases),
  };
}

function keptOf(hold: Hold, key: string): readonly unknown[] {
  switch (hold.primitive) {
    case 'lease':
      return ['lease', key];
    case 'rate':
      return ['rate', key, hold.periodMs, hold.max, hold.settles];
    case 'budget':
      return hold.periodMs === undefined ? ['budget', key] : ['budget', key, hold.periodMs];
    default:
      return assertNever(hold);
  }
}

/** The books of a request's parts, in their order. */
export function booksOf(parts: readonly Part[]): Book[] {
  return parts.map(({ list }) => list.book);
}

/** The amounts of a part's leases, as scripts/renew.lua reads them: `1 1`. */
export function leaseAmounts({ list, amounts }: Part): string {
  let text = '';
  for (const [index, { primitive }] of list.holds.entries()) {
    if (primitive === 'lease') text += `${text === '' ? '' : ' '}${amounts[index] ?? 0}`;
  }
  return text;
}
