import { type Clock, type Timer, TransientMap } from '@sluice/runtime';
import { runLuaScript } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';
import { type Part, slotsOf } from './check-list.ts';
import type { Claim, Outcome, Ticket } from './claim.ts';
import { type Ledger, longestLeaseMs, type Renewal, type Settlement } from './ledger.ts';
import type { Slot } from './names.ts';
import { readSlotScript } from './script.ts';
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
  /** Where it has its places, and how many. */
  readonly pool: string;
  readonly jobs: number;
  private readonly book: TicketBook;
  private readonly priorities: readonly number[];

  constructor(book: TicketBook, { claim, parts, priorities }: NewTicket) {
    this.book = book;
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
    this.book.freePlaces(this, durationMs);
  }

  settle(outcome: Outcome): Promise<void> {
    return this.book.settleTicket(this, outcome);
  }
}

/** How the tickets of one process are kept alive. */
export interface TicketBookOptions {
  redis: Redis | Cluster;
  ledger: Ledger;
  clock: Pick<Clock, 'after'>;
  leaseMs: number;
  renewEveryMs: number;
  /** Key of `AdmissionNames.slotsInUse`. */
  slotsInUse: string;
  /** Called when the places of a ticket are given back. */
  onFreed(pool: string, jobs: number): void;
}

/** Tickets that are renewed by one script run, which takes Redis about 1 ms. */
const renewalBatch = 200;
const slotsInUseLifeMs = 7 * 24 * 3600 * 1000;
/** Slots of dead processes that one round cleans up. */
const abandonedPerRound = 100;
const promiseScript = readSlotScript('promise');
const abandonedScript = readSlotScript('abandoned');

/**
 * Keeps the tickets of this process alive, and settles what this and other processes have left behind. Anything that
 * fails because Redis is away is repeated in the next round, or as soon as Redis is back. Each slot fails on its own,
 * because in a Cluster a single master may be away.
 */
export class TicketBook {
  private readonly options: TicketBookOptions;
  private readonly tickets = new TransientMap<string, OpenTicket>();
  private readonly unsettled: Unsettled;
  /** Slots for which this process has made a promise since the last round. */
  private readonly announced = new Set<Slot>();
  private timer: Timer | undefined;
  private renewing: Promise<void> | undefined;
  private settling: Promise<void> | undefined;

  constructor(options: TicketBookOptions) {
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

  /** Promises to look after this slot, so that other processes do it should this one die. */
  announce(slot: Slot): void {
    if (this.announced.has(slot)) return;
    this.announced.add(slot);
    this.promise([slot]).catch(() => this.announced.delete(slot));
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
    void this.settle({ requestId, slots: slotsOf(parts.slice(-1)), charge: 0, durationMs });
  }

  /** Settles all that a ticket still holds. Only the first call counts. */
  settleTicket(ticket: OpenTicket, outcome: Outcome): Promise<void> {
    const { requestId, estimatedInputTokens, parts, seen, hasFreed } = ticket;
    if (this.tickets.get(requestId) !== ticket) return Promise.resolve();
    this.tickets.delete(requestId);
    if (!hasFreed) this.options.onFreed(ticket.pool, ticket.jobs);
    if (parts.length === 0) return Promise.resolve();
    const charge = chargeOf(outcome, { inputTokens: estimatedInputTokens, outputTokens: seen });
    const durationMs = hasFreed ? undefined : outcome.durationMs;
    return this.settle({ requestId, slots: slotsOf(parts), charge, durationMs });
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
    const bySlot = new Map<Slot, OpenTicket[]>();
    for (const ticket of tickets) {
      ticket.telling = ticket.seen;
      for (const { list } of ticket.parts) {
        const theirs = bySlot.get(list.slot);
        if (theirs) theirs.push(ticket);
        else bySlot.set(list.slot, [ticket]);
      }
    }
    this.announced.clear();
    const slots = [...bySlot.keys()];
    const promised = this.promise(slots).then(
      () => {
        for (const slot of slots) this.announced.add(slot);
      },
      () => undefined,
    );
    const areRenewed = await this.eachSlot(slots, (slot) => this.renewSlot(slot, bySlot.get(slot) ?? []));
    if (areRenewed) for (const ticket of tickets) ticket.told = ticket.telling;
    await promised;
  }

  /**
   * Visits slots, each of which may fail. In a Cluster they are visited at once, so that a master that is away holds up
   * only its own. With a single Redis they are visited in turn, so that it can serve others in between. Returns whether
   * none has failed.
   */
  private async eachSlot(slots: readonly Slot[], visit: (slot: Slot) => Promise<void>): Promise<boolean> {
    let hasFailed = false;
    const safely = (slot: Slot): Promise<void> =>
      visit(slot).catch(() => {
        hasFailed = true;
      });
    if (this.options.redis instanceof Cluster) await Promise.all(slots.map(safely));
    else for (const slot of slots) await safely(slot);
    return !hasFailed;
  }

  private async renewSlot(slot: Slot, tickets: readonly OpenTicket[]): Promise<void> {
    for (let from = 0; from < tickets.length; from += renewalBatch) {
      const batch = tickets.slice(from, from + renewalBatch);
      await this.options.ledger.renew(slot, () =>
        // Some may have been settled since the round began, and a renewal would bring them back.
        batch.flatMap((ticket) => (this.tickets.has(ticket.requestId) ? renewalsOf(ticket, slot) : [])),
      );
    }
  }

  /** Cleans up slots that dead processes have left: those whose promise nobody has renewed. */
  private async settleAbandoned(): Promise<void> {
    const { redis, slotsInUse, ledger } = this.options;
    const values = [abandonedPerRound, longestLeaseMs];
    const found = await runLuaScript(redis, abandonedScript, [slotsInUse], values);
    const slots = Array.isArray(found) ? found.map(String) : [];
    await this.eachSlot(slots, async (slot) => {
      // A slot that does not answer gets a new promise, too, so that the next look at it is not immediate.
      const left = await ledger.sweep(slot).catch(() => undefined);
      if (left === 0) await redis.zrem(slotsInUse, slot);
      else await this.promise([slot]);
    });
  }

  private async promise(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const { redis, leaseMs, slotsInUse } = this.options;
    await runLuaScript(redis, promiseScript, [slotsInUse], [leaseMs + 1000, slotsInUseLifeMs, ...slots]);
  }
}

/** The renewal of a ticket's part in a slot; empty if it holds nothing there any more. */
function renewalsOf({ requestId, parts, telling, told }: OpenTicket, slot: Slot): Renewal[] {
  const part = parts.find(({ list }) => list.slot === slot);
  return part ? [{ requestId, part, seen: telling > told ? telling : undefined }] : [];
}

/** Charges the reported usage; missing numbers are replaced by the input estimate and the output that was seen. */
function chargeOf({ usage }: Outcome, known: { inputTokens: number; outputTokens: number }): number {
  const { inputTokens = known.inputTokens, outputTokens = known.outputTokens } = usage ?? {};
  return Math.max(0, Math.ceil(inputTokens + outputTokens));
}
