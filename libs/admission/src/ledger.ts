import { SluiceError } from '@sluice/canonical';
import { TurnBatch } from '@sluice/runtime';
import { type LuaValue, type QueueEntry, runLuaScript, runPackingScript } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';
import { z } from 'zod';
import { booksOf, type CheckList, type Hold, leaseAmounts, type Part } from './check-list.ts';
import { type Book, bookKeys } from './names.ts';
import { Numbering } from './numbering.ts';
import { readScript } from './script.ts';

/**
 * Neither the lease of an ingress nor its promise to look after a book lasts longer. What ends later was written before
 * the clock of Redis was set back.
 */
export const longestLeaseMs = 60_000;

/** All that one request wants to reserve. */
export interface Reservation {
  requestId: string;
  inputTokens: number;
  /** Checked in this order; the pool comes last. */
  parts: readonly Part[];
  /** The jobs that enter the pool's queue once all parts are taken; absent means none. */
  entries?: readonly QueueEntry[];
}

/** The reply of Redis to a reservation. Holds are numbered across all of its parts. */
export interface Answer {
  /** Of the holds that refuse, the one that will do so longest; absent means that all were taken. */
  refused: number | undefined;
  /** After how long there would be room for the claim, 0 meaning at any moment; absent means never. */
  waitMs: number | undefined;
  /** Mean service time of the pool, if the pool was asked. */
  meanMs: number | undefined;
  /** The level that each hold had before; those behind a part that refuses are left out. */
  levels: number[];
  /** Priorities of the jobs that enter the pool's queue: see scripts/fair-priority.lua. Empty if none may. */
  priorities: number[];
}

/** What a renewal writes for the part that one request has in a book. */
export interface Renewal {
  requestId: string;
  part: Part;
  /** Output tokens seen so far; absent means as many as at the last renewal. */
  seen?: number | undefined;
}

/** How one request, or a part of it, is settled. */
export interface Settlement {
  requestId: string;
  /** The books in which the request has parts; that of its pool comes last. */
  books: readonly Book[];
  /**
   * Tokens to book; absent gives everything back as if it had never been taken. What has not been taken yet is not
   * taken later either: the reservation may be on its way still.
   */
  charge?: number;
  /** Whether a renewal may be on its way still, which must not bring back what is settled. */
  mayBeRenewed?: boolean;
  /** Adds this generation to the mean service time of the pool. */
  durationMs?: number | undefined;
  /** Adds this one instead, where it is longer than the mean. */
  heldMs?: number | undefined;
}

/** What a book holds. */
export interface Holdings {
  requests: number;
  /** Tokens that are reserved and not yet spent. */
  reserved: number;
  levels: number[];
}

// An empty Lua table is encoded as an object, because Lua cannot tell it from a list.
const levels = z.preprocess((value) => (Array.isArray(value) ? value : []), z.array(z.number()));
const holdingsSchema = z.object({ requests: z.number(), reserved: z.number(), levels });

/**
 * The books of reservations in Redis, one for each tenant and pool. Every script run is atomic and safe to repeat. All
 * reservations of one event-loop turn share a script run, and so do all settlements. In a Cluster, books live on
 * different nodes, so each book has runs of its own.
 */
export class Ledger {
  private readonly redis: Redis | Cluster;
  private readonly isCluster: boolean;
  private readonly leaseMs: number;
  private readonly reserves = new Map<Book, TurnBatch<Reservation, Answer>>();
  private readonly settles = new Map<Book, TurnBatch<Settlement, boolean>>();
  private readonly scripts = {
    reserve: readScript('reserve'),
    settle: readScript('settle'),
    renew: readScript('renew'),
    sweep: readScript('sweep'),
    inspect: readScript('inspect'),
  };

  /** `leaseMs`: how long a reservation lives without renewal. */
  constructor(redis: Redis | Cluster, leaseMs: number) {
    this.redis = redis;
    this.isCluster = redis instanceof Cluster;
    this.leaseMs = leaseMs;
  }

  /** Takes all parts or none. If it rejects, it is not known what was taken, and the request has to be settled. */
  reserve(reservation: Reservation): Promise<Answer> {
    return this.isCluster ? this.reserveApart(reservation) : this.reserveIn(everyBook, reservation);
  }

  /** Returns whether there was anything to settle. False if it was settled before, or swept after its lease expired. */
  settle(settlement: Settlement): Promise<boolean> {
    return this.isCluster ? this.settleApart(settlement) : this.settleIn(everyBook, settlement);
  }

  /**
   * Renews leases. `renewals` is called only when they are sent, so that a request settled meanwhile does not come
   * back.
   */
  async renew(book: Book, renewals: () => readonly Renewal[]): Promise<void> {
    await runLuaScript(this.redis, this.scripts.renew, bookKeys(book), () => this.renewalValues(renewals()));
  }

  /** Settles all expired requests of a book, a part in each script run. Returns how many requests are still open. */
  async sweep(book: Book): Promise<number> {
    const { redis, scripts, leaseMs } = this;
    for (;;) {
      const reply = await runLuaScript(redis, scripts.sweep, bookKeys(book), [leaseMs, longestLeaseMs]);
      const [settled = 0, open = 0] = numbersOf(reply);
      if (settled === 0) return open;
    }
  }

  /** Reads what a book holds, after settling expired requests. */
  async inspect(book: Book, holds: readonly Hold[] = []): Promise<Holdings> {
    const reply = await runLuaScript(this.redis, this.scripts.inspect, bookKeys(book), [
      JSON.stringify(holds),
      this.leaseMs,
      longestLeaseMs,
    ]);
    return holdingsSchema.parse(JSON.parse(String(reply)));
  }

  private renewalValues(renewals: readonly Renewal[]): LuaValue[] {
    const told = renewals.flatMap(({ requestId, seen }) => (seen === undefined ? [] : [requestId, seen]));
    const values: LuaValue[] = [this.leaseMs, longestLeaseMs, told.length / 2, ...told];
    // Most requests have the same leases, which the script then reads once.
    for (const [{ leases }, ofList] of Map.groupBy(renewals, ({ part }) => part.list)) {
      for (const [amounts, group] of Map.groupBy(ofList, ({ part }) => leaseAmounts(part))) {
        values.push(leases, amounts, group.length, ...group.map(({ requestId }) => requestId));
      }
    }
    return values;
  }

  /** Reserves book by book, for a Cluster. When one refuses, the parts taken before are given back. */
  private async reserveApart({ parts, entries = [], ...request }: Reservation): Promise<Answer> {
    const { requestId } = request;
    const levels: number[] = [];
    let answer: Answer = {
      refused: undefined,
      waitMs: undefined,
      meanMs: undefined,
      levels,
      priorities: [],
    };
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      answer = await this.reserveIn(part.list.book, {
        ...request,
        parts: [part],
        entries: isLast ? entries : [],
      });
      const { refused } = answer;
      const before = levels.length;
      levels.push(...answer.levels);
      if (refused === undefined) continue;
      await this.settle({ requestId, books: booksOf(parts.slice(0, index)) });
      return { ...answer, levels, refused: before + refused };
    }
    // The last answer is that of the pool, which alone has a mean and a queue.
    return { ...answer, levels };
  }

  private async settleApart(settlement: Settlement): Promise<boolean> {
    const { durationMs, heldMs, books, ...request } = settlement;
    const last = books.length - 1;
    const each = books.map((book, index) =>
      this.settleIn(book, index === last ? { ...settlement, books: [book] } : { ...request, books: [book] }),
    );
    return (await Promise.all(each)).includes(true);
  }

  private reserveIn(name: Book, reservation: Reservation): Promise<Answer> {
    return batchOf(this.reserves, name, this.reserveAll).add(reservation);
  }

  private settleIn(name: Book, settlement: Settlement): Promise<boolean> {
    return batchOf(this.settles, name, this.settleAll).add(settlement);
  }

  private readonly reserveAll = async (reservations: readonly Reservation[]): Promise<Answer[]> => {
    const [numbers, lists] = [new Numbering<Book>(), new Numbering<CheckList>()];
    const requests: LuaValue[] = [];
    for (const { requestId, inputTokens, parts, entries = [] } of reservations) {
      requests.push(requestId, inputTokens, lists.numbersOf(parts.map(({ list }) => list)));
      for (const { amounts } of parts) requests.push(`[${amounts.join()}]`);
      requests.push(entries.length);
      for (const { id, data, lifeMs } of entries) requests.push(id, data, lifeMs);
    }
    const { things } = lists;
    const checks = things.flatMap(({ book, asked, kept }) => [numbers.numberOf(book), asked, kept]);
    const values = [this.leaseMs, longestLeaseMs, things.length, ...checks, ...requests];
    return answersOf(await this.run('reserve', numbers, values));
  };

  private readonly settleAll = async (settlements: readonly Settlement[]): Promise<boolean[]> => {
    const numbers = new Numbering<Book>();
    const values: (string | number)[] = [];
    for (const { requestId, books, charge = '', mayBeRenewed, durationMs, heldMs } of settlements) {
      const held = heldMs === undefined ? '' : `>${heldMs}`;
      const tokens = mayBeRenewed ? `${charge} ` : charge;
      values.push(requestId, numbers.numbersOf(books), tokens, durationMs ?? held);
    }
    return numbersOf(await this.run('settle', numbers, values)).map((settled) => settled === 1);
  };

  private run(
    name: 'reserve' | 'settle',
    books: Numbering<Book>,
    values: readonly LuaValue[],
  ): Promise<unknown> {
    return runPackingScript(this.redis, this.scripts[name], books.things.flatMap(bookKeys), values);
  }
}

/** Name of the single batch that is used outside a Cluster, where one script run may work on every book. */
const everyBook: Book = '';

/** In a Cluster, each book (of a pool or a tenant) that was used lately has a batch of its own. */
const batchesKept = 10_000;

function batchOf<Item, Reply>(
  batches: Map<Book, TurnBatch<Item, Reply>>,
  book: Book,
  ask: (items: readonly Item[]) => Promise<readonly Reply[]>,
): TurnBatch<Item, Reply> {
  let batch = batches.get(book);
  if (!batch) {
    // Requests that are under way in a forgotten batch still get their replies.
    if (batches.size >= batchesKept) batches.clear();
    batch = new TurnBatch(ask);
    batches.set(book, batch);
  }
  return batch;
}

/** Reads the answers of scripts/reserve.lua, which stand one after the other in one list of numbers. */
function answersOf(reply: unknown): Answer[] {
  const numbers = numbersOf(reply);
  const answers: Answer[] = [];
  let from = 0;
  while (from < numbers.length) {
    const firstLevel = from + 5;
    const firstPriority = firstLevel + (numbers[from + 3] ?? 0);
    const end = firstPriority + (numbers[from + 4] ?? 0);
    answers.push({
      refused: known(numbers[from]),
      waitMs: known(numbers[from + 1]),
      meanMs: known(numbers[from + 2]),
      levels: numbers.slice(firstLevel, firstPriority),
      priorities: numbers.slice(firstPriority, end),
    });
    from = end;
  }
  return answers;
}

function known(number = -1): number | undefined {
  return number >= 0 ? number : undefined;
}

/** Checks only the outer shape, because the scripts are ours and ship with this file. */
function numbersOf(reply: unknown): number[] {
  if (Array.isArray(reply)) return reply;
  throw new SluiceError('internal', 'the ledger answered in an unknown shape');
}
