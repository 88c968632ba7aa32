/** A bounded map whose entries expire. When it is full, the least recently used entry is dropped. */
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
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
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
