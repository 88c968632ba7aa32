/**
 * The share of a full map that is dropped at once. Whoever looks for the oldest entry walks over the holes that others
 * have left: 7 µs for each entry, were they dropped one by one out of 10,000. (An iterator that stays before the oldest
 * would keep every table that the map has ever grown out of.)
 */
const droppedShare = 1 / 100;

/** A bounded map whose entries expire. When it is full, those that were not used for the longest time are dropped. */
export class Recent<Value> {
  private readonly entries = new Map<string, { value: Value; diesAt: number }>();
  private readonly capacity: number;
  private readonly now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(capacity: number, now: () => number) {
    this.capacity = capacity;
    this.now = now;
  }

  /** Absent if the entry was never there, was dropped or has expired. */
  get(name: string): Value | undefined {
    const entry = this.entries.get(name);
    if (!entry) return undefined;
    if (entry.diesAt <= this.now()) {
      this.entries.delete(name);
      return undefined;
    }
    // A map keeps insertion order, so inserting the entry again makes it the last to be dropped. In a map that is less
    // than half full nothing will be dropped soon.
    if (this.entries.size > this.capacity / 2) {
      this.entries.delete(name);
      this.entries.set(name, entry);
    }
    return entry.value;
  }

  set(name: string, value: Value, lifeMs: number): void {
    this.entries.delete(name);
    this.entries.set(name, { value, diesAt: this.now() + lifeMs });
    if (this.entries.size <= this.capacity) return;
    let dropped = 0;
    for (const oldest of this.entries.keys()) {
      this.entries.delete(oldest);
      dropped += 1;
      if (dropped >= this.capacity * droppedShare) return;
    }
  }

  delete(name: string): void {
    this.entries.delete(name);
  }

  deleteWhere(matches: (value: Value) => boolean): void {
    for (const [name, { value }] of this.entries) if (matches(value)) this.entries.delete(name);
  }

  clear(): void {
    this.entries.clear();
  }

  get size(): number {
    return this.entries.size;
  }
}
