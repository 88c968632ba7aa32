import { type Clock, type Timer, TransientMap } from '@sluice/runtime';
import { runLuaScript } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';
import { booksOf, type Part } from './check-list.ts';
import type { Claim, Outcome, Ticket } from './claim.ts';
import { type Ledger, longestLeaseMs, type Renewal, type Settlement } from './ledger.ts';
import { type Book, booksInUse } from './names.ts';
import { priorMeanMs } from './saturation.ts';
import { readPromiseScript } from './script.ts';
import { Unsettled } from './unsettled.ts';

interface NewTicket {
  claim: Claim;
  parts: readonly Part[];
  priorities: readonly number[];
}

/** An admitted request of this process that has not been settled. */
class OpenTicket implements Ticket {
  readonly requestId: string;
  readonly estimatedInputTokens: number;
  /** The parts that are still held; that of the pool comes last. */
  parts: readonly Part[];
  hasFreed = false;
  /** Output tokens seen so far. */
  seen = 0;
  /** Output tokens of which this round of renewals tells, and of which the last one that succeeded has told. */
  telling = 0;
  told = 0;
  /** Renewals that were sent and not answered. Those of a lost connection may reach Redis after a settlement. */
  unanswered = 0;
  /** Where it has its places, and how many. */
  readonly pool: string;
  readonly jobs: number;
  private readonly tickets: Tickets;
  private readonly priorities: readonly number[];

  constructor(tickets: Tickets, { claim, parts, priorities }: NewTicket) {
    this.tickets = tickets;
    this.pool = claim.pool;
    this.jobs = claim.jobs;
    this.requestId = claim.requestId;
    this.estimatedInputTokens = claim.estimatedInputTokens;
    this.parts = parts;
    this.priorities = priorities;
  }

  priorityOf(job: number): number {
    // Without a heard reply there are no priorities, but then the jobs are already in the queue.
    return this.priorities[job] ?? 1;
  }

  sawOutput(tokens: number): void {
    this.seen = Math.max(this.seen, tokens);
  }

  freePlaces(durationMs: number): void {
    this.tickets.freePlaces(this, durationMs);
  }

  settle(outcome: Outcome): Promise<void> {
    return this.tickets.settleTicket(this, outcome);
  }
}

/** How the tickets of one process are kept alive. */
export interface TicketsOptions {
  redis: Redis | Cluster;
  ledger: Ledger;
  clock: Pick<Clock, 'after'>;
  leaseMs: number;
  renewEveryMs: number;
  /** Called when the places of a ticket are given back. */
  onFreed(pool: string, jobs: number): void;
}

/** Tickets that are renewed by one script run, which takes Redis about 1 ms. */
const renewalBatch = 200;
/**
 * Books of a single Redis that are visited at once, which takes it about 1 ms if they are small. One at a time, 8,000
 * tenants at 3 ms of the network away took longer than a lease lasts.
 */
const booksAtOnce = 16;
const booksInUseLifeMs = 7 * 24 * 3600 * 1000;
/** Books of dead processes that one round cleans up. */
const abandonedPerRound = 100;
const promiseScript = readPromiseScript('promise');
const abandonedScript = readPromiseScript('abandoned');

/**
 * Keeps the tickets of this process alive, and settles what this and other processes have left behind. Anything that
 * fails because Redis is away is repeated in the next round, or as soon as Redis is back. Each book fails on its own,
 * because in a Cluster a single master may be away.
 */
export class Tickets {
  private readonly options: TicketsOptions;
  private readonly tickets = new TransientMap<string, OpenTicket>();
  private readonly unsettled: Unsettled;
  /** Books for which this process has made a promise since the last round. */
  private readonly announced = new Set<Book>();
  private timer: Timer | undefined;
  private renewing: Promise<void> | undefined;
  private settling: Promise<void> | undefined;

  constructor(options: TicketsOptions) {
    this.options = options;
    this.unsettled = new Unsettled(options.ledger);
  }

  get openCount(): number {
    return this.tickets.size;
  }

  get unsettledCount(): number {
    return this.unsettled.count;
  }

  start(): void {
    this.options.redis.on('ready', this.runRound);
    this.schedule();
  }

  /** Stops the rounds, after repeating the failed settlements once more. Open tickets are left to their leases. */
  async close(): Promise<void> {
    this.options.redis.off('ready', this.runRound);
    this.timer?.cancel();
    this.timer = undefined;
    await Promise.all([this.renewing, this.settling]);
    await this.unsettled.repeat();
  }

  /** Promises to look after this book, so that other processes do it should this one die. */
  announce(book: Book): void {
    if (this.announced.has(book)) return;
    this.announced.add(book);
    this.promise([book]).catch(() => this.announced.delete(book));
  }

  /** Opens a ticket, whose leases are renewed until it is settled. */
  open(reserved: NewTicket): Ticket {
    const ticket = new OpenTicket(this, reserved);
    this.tickets.set(ticket.requestId, ticket);
    return ticket;
  }

  /** Settles the pool's part of a ticket before the others. */
  freePlaces(ticket: OpenTicket, durationMs: number): void {
    const { requestId, parts } = ticket;
    if (this.tickets.get(requestId) !== ticket || ticket.hasFreed) return;
    ticket.hasFreed = true;
    ticket.parts = parts.slice(0, -1);
    this.options.onFreed(ticket.pool, ticket.jobs);
    const books = booksOf(parts.slice(-1));
    void this.settle({ requestId, books, charge: 0, durationMs, mayBeRenewed: ticket.unanswered > 0 });
  }

  /** Settles all that a ticket still holds. Only the first call counts. */
  settleTicket(ticket: OpenTicket, outcome: Outcome): Promise<void> {
    const { requestId, estimatedInputTokens, parts, seen, hasFreed } = ticket;
    if (this.tickets.get(requestId) !== ticket) return Promise.resolve();
    this.tickets.delete(requestId);
    if (!hasFreed) this.options.onFreed(ticket.pool, ticket.jobs);
    if (parts.length === 0) return Promise.resolve();
    const charge = chargeOf(outcome, { inputTokens: estimatedInputTokens, outputTokens: seen });
    const times = hasFreed ? {} : timesOf(outcome);
    const mayBeRenewed = ticket.unanswered > 0;
    return this.settle({ requestId, books: booksOf(parts), charge, mayBeRenewed, ...times });
  }

  /** Never rejects: a settlement that Redis did not take is repeated in the next round. */
  settle(settlement: Settlement): Promise<void> {
    return this.unsettled.settle(settlement);
  }

  private schedule(): void {
    this.timer = this.options.clock.after(this.options.renewEveryMs, () => {
      this.schedule();
      this.runRound();
    });
    this.timer.unref();
  }

  private readonly runRound = (): void => {
    // A round that outlasts the interval replaces the next one. Renewals do not wait for settlements.
    this.renewing ??= this.renew().finally(() => {
      this.renewing = undefined;
    });
    this.settling ??= this.unsettled
      .repeat()
      .then(() => this.settleAbandoned())
      .catch(() => undefined)
      .finally(() => {
        this.settling = undefined;
      });
  };

  /** Never rejects. */
  private async renew(): Promise<void> {
    const tickets = [...this.tickets.values()];
    const byBook = new Map<Book, OpenTicket[]>();
    for (const ticket of tickets) {
      ticket.telling = ticket.seen;
      for (const { list } of ticket.parts) {
        const theirs = byBook.get(list.book);
        if (theirs) theirs.push(ticket);
        else byBook.set(list.book, [ticket]);
      }
    }
    this.announced.clear();
    const books = [...byBook.keys()];
    const promised = this.promise(books).then(
      () => {
        for (const book of books) this.announced.add(book);
      },
      () => undefined,
    );
    const areRenewed = await this.eachBook(books, (book) => this.renewBook(book, byBook.get(book) ?? []));
    if (areRenewed) for (const ticket of tickets) ticket.told = ticket.telling;
    await promised;
  }

  /**
   * Visits books, each of which may fail. In a Cluster they are visited at once, so that a master that is away holds up
   * only its own. With a single Redis they are visited in turn, a few at once, so that it can serve others in between.
   * Returns whether none has failed.
   */
  private async eachBook(books: readonly Book[], visit: (book: Book) => Promise<void>): Promise<boolean> {
    let hasFailed = false;
    const safely = (book: Book): Promise<void> =>
      visit(book).catch(() => {
        hasFailed = true;
      });
    const atOnce = this.options.redis instanceof Cluster ? books.length : booksAtOnce;
    for (let from = 0; from < books.length; from += atOnce)
      await Promise.all(books.slice(from, from + atOnce).map(safely));
    return !hasFailed;
  }

  private async renewBook(book: Book, tickets: readonly OpenTicket[]): Promise<void> {
    for (let from = 0; from < tickets.length; from += renewalBatch) {
      const batch = tickets.slice(from, from + renewalBatch);
      for (const ticket of batch) ticket.unanswered += 1;
      await this.options.ledger.renew(book, () =>
        // Some may have been settled since the round began, and a renewal would bring them back.
        batch.flatMap((ticket) => (this.tickets.has(ticket.requestId) ? renewalsOf(ticket, book) : [])),
      );
      for (const ticket of batch) ticket.unanswered -= 1;
    }
  }

  /** Cleans up books that dead processes have left: those whose promise nobody has renewed. */
  private async settleAbandoned(): Promise<void> {
    const { redis, ledger } = this.options;
    const values = [abandonedPerRound, longestLeaseMs];
    const found = await runLuaScript(redis, abandonedScript, [booksInUse], values);
    const books = Array.isArray(found) ? found.map(String) : [];
    await this.eachBook(books, async (book) => {
      // A book that does not answer gets a new promise, too, so that the next look at it is not immediate.
      const left = await ledger.sweep(book).catch(() => undefined);
      if (left === 0) await redis.zrem(booksInUse, book);
      else await this.promise([book]);
    });
  }

  private async promise(books: readonly Book[]): Promise<void> {
    if (books.length === 0) return;
    const { redis, leaseMs } = this.options;
    await runLuaScript(redis, promiseScript, [booksInUse], [leaseMs + 1000, booksInUseLifeMs, ...books]);
  }
}

/** The renewal of a ticket's part in a book; empty if it holds nothing there any more. */
function renewalsOf({ requestId, parts, telling, told }: OpenTicket, book: Book): Renewal[] {
  const part = parts.find(({ list }) => list.book === book);
  return part ? [{ requestId, part, seen: telling > told ? telling : undefined }] : [];
}

/** Charges the reported usage; missing numbers are replaced by the input estimate and the output that was seen. */
function chargeOf({ usage }: Outcome, known: { inputTokens: number; outputTokens: number }): number {
  const { inputTokens = known.inputTokens, outputTokens = known.outputTokens } = usage ?? {};
  return Math.max(0, Math.ceil(inputTokens + outputTokens));
}

/**
 * What the settlement says of the time in a slot. A pool without a mean would take the first failure for one, so what
 * failed within the time that is assumed for such a pool says nothing.
 */
function timesOf({ durationMs, heldMs = 0 }: Outcome): Pick<Settlement, 'durationMs' | 'heldMs'> {
  if (durationMs !== undefined) return { durationMs };
  return heldMs > priorMeanMs ? { heldMs } : {};
}
