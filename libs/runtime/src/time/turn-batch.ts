import { afterTurn } from './after-turn.ts';

/** Most items in a batch. More in one script run would keep Redis from others for too long. */
const batchLimit = 64;

/**
 * Collects the items of one event-loop turn and asks for them together. Each `add` gets its own reply; if the batch
 * fails, all of them reject with the same error. Order is kept.
 */
export class TurnBatch<Item, Reply> {
  private pending: { item: Item; resolve(reply: Reply): void; reject(error: unknown): void }[] = [];
  private readonly ask: (items: readonly Item[]) => Promise<readonly Reply[]>;

  /** `ask` must reply to every item, in order. */
  constructor(ask: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.ask = ask;
  }

  add(item: Item): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.pending.length === 0) afterTurn(() => this.flush());
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
