/**
 * Collections for what comes and goes thousands of times a second.
 *
 * When a `Map` or a `Set` has had enough deletions, V8 gives it a new table. The old table still refers to its members
 * and to the new one, and once it has grown old, only a full collection finds out that it is garbage. Until then the
 * collector of the young generation takes everything it refers to for alive, and with the new table that goes on for
 * ever: all that belonged to requests under way was copied at each collection and ended up in the old generation. Here
 * the table refers to a seat, and whoever leaves empties it.
 */

/** A place in a collection; empty once whoever had it has left. */
export interface Seat<Member> {
  member: Member | undefined;
}

/** A `Map` of what comes and goes. */
export class TransientMap<Key, Value> {
  private readonly seats = new Map<Key, { member: Value }>();

  get size(): number {
    return this.seats.size;
  }

  get(key: Key): Value | undefined {
    return this.seats.get(key)?.member;
  }

  has(key: Key): boolean {
    return this.seats.has(key);
  }

  set(key: Key, value: Value): void {
    const seat = this.seats.get(key);
    if (seat) seat.member = value;
    else this.seats.set(key, { member: value });
  }

  /** Returns whether it was there. */
  delete(key: Key): boolean {
    const seat: Seat<Value> | undefined = this.seats.get(key);
    if (!seat) return false;
    seat.member = undefined;
    return this.seats.delete(key);
  }

  values(): IterableIterator<Value> {
    return new Mapped(this.seats.values(), ({ member }) => member);
  }

  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return new Mapped(this.seats.entries(), ([key, { member }]) => [key, member]);
  }
}

/** A `Set` of what comes and goes. Its members remember their seat, so each can be in one such set at a time. */
export class TransientSet<Member extends { seat?: Seat<Member> | undefined }> {
  private readonly seats = new Set<Seat<Member>>();

  get size(): number {
    return this.seats.size;
  }

  /** Does nothing if it is already in a set. */
  add(member: Member): void {
    if (member.seat) return;
    member.seat = { member };
    this.seats.add(member.seat);
  }

  /** Returns whether it was in this set. */
  delete(member: Member): boolean {
    const { seat } = member;
    if (!seat || !this.seats.delete(seat)) return false;
    seat.member = undefined;
    member.seat = undefined;
    return true;
  }

  [Symbol.iterator](): IterableIterator<Member> {
    // Who is in the set has not left its seat.
    return new Mapped(this.seats.values(), ({ member }) => member as Member);
  }
}

/** Iterates over what `map` makes of each item. A generator takes 31 ns for each, and `Iterator.map` 29, instead of 9. */
class Mapped<Item, Result> implements IterableIterator<Result> {
  private readonly items: Iterator<Item>;
  private readonly map: (item: Item) => Result;

  constructor(items: Iterator<Item>, map: (item: Item) => Result) {
    this.items = items;
    this.map = map;
  }

  next(): IteratorResult<Result> {
    const { done, value } = this.items.next();
    return done ? { done, value: undefined } : { done: false, value: this.map(value) };
  }

  [Symbol.iterator](): this {
    return this;
  }
}
