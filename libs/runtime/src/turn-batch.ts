/** More in one script would keep Redis from others for too long. */
const batchLimit = 64;

/**
 * Gathers what is asked in one event-loop turn and asks it together. Each asker gets its own answer; when the
 * batch fails, all of its askers fail with the same error. Order is kept.
 */
export class TurnBatch<Item, Reply> {
  private pending: { item: Item; resolve(reply: Reply): void; reject(error: unknown): void }[] = [];
  private readonly ask: (items: readonly Item[]) => Promise<readonly Reply[]>;

  /** `ask` answers every item, in order. */
  constructor(ask: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.ask = ask;
  }

  add(item: Item): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.pending.length === 0) setImmediate(() => this.flush());
      this.pending.push({ item, resolve, reject });
      if (this.pending.length >= batchLimit) this.flush();
    });
  }

  private flush(): void {
    const batch = this.pending;
    if (batch.length === 0) return;
    this.pending = [];
    this.ask(batch.map(({ item }) => item)).then(
      (replies) => {
        batch.forEach(({ resolve, reject }, index) => {
          const reply = replies[index];
          if (reply === undefined) reject(new TypeError('a batch came back with too few answers'));
          else resolve(reply);
        });
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }
}
