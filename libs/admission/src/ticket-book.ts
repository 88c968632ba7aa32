import type { Clock, Timer } from '@sluice/runtime';
import type { Cluster, Redis } from 'ioredis';
import { type Part, slotsOf } from './check-list.ts';
import type { Claim, Outcome, Ticket } from './claim.ts';
import type { Ledger, Renewal, Settlement } from './ledger.ts';
import type { Slot } from './names.ts';

interface NewTicket {
  claim: Claim;
  parts: readonly Part[];
  priority: number;
  onSettle(): void;
}

/** An admitted request of this process that is not settled. */
class OpenTicket implements Ticket {
  readonly requestId: string;
  readonly priority: number;
  readonly estimatedInputTokens: number;
  /** Those that are held still; that of the pool is the last. */
  parts: readonly Part[];
  hasFreed = false;
  /** Output tokens seen so far. */
  seen = 0;
  readonly onSettle: () => void;
  private readonly book: TicketBook;

  constructor(book: TicketBook, { claim, parts, priority, onSettle }: NewTicket) {
    this.book = book;
    this.onSettle = onSettle;
    this.requestId = claim.requestId;
    this.estimatedInputTokens = claim.estimatedInputTokens;
    this.parts = parts;
    this.priority = priority;
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

export interface TicketBookOptions {
  redis: Redis | Cluster;
  ledger: Ledger;
  clock: Clock;
  leaseMs: number;
  renewEveryMs: number;
  /** Key of `AdmissionNames.slotsInUse`. */
  slotsInUse: string;
}

/** Tickets per script: some 2 ms of Redis. */
const renewalBatch = 200;
/** Settlements kept while Redis is away; past it the oldest are left to the rule for dead leases. */
const maxUnsettled = 100_000;
const slotsInUseLifeMs = 7 * 24 * 3600 * 1000;

/**
 * Keeps what this process holds alive, and settles what it and others left behind. Everything it does may fail
 * with Redis and is done again at the next round, or the moment Redis is back.
 */
export class TicketBook {
  private readonly options: TicketBookOptions;
  private readonly tickets = new Map<string, OpenTicket>();
  private readonly unsettled = new Map<string, Settlement>();
  /** Slots that this process told the others of since the last round. */
  private readonly announced = new Set<Slot>();
  private timer: Timer | undefined;
  private round: Promise<void> | undefined;

  constructor(options: TicketBookOptions) {
    this.options = options;
  }

  get openCount(): number {
    return this.tickets.size;
  }

  get unsettledCount(): number {
    return this.unsettled.size;
  }

  start(): void {
    this.options.redis.on('ready', this.runRound);
    this.schedule();
  }

  /** Ends the rounds with a last one. Open tickets are left to their leases. */
  async close(): Promise<void> {
    this.options.redis.off('ready', this.runRound);
    this.timer?.cancel();
    this.timer = undefined;
    await this.round;
    await this.settleLeftovers().catch(() => undefined);
  }

  /** Tells the other processes that this slot may need looking after, should this one die. */
  announce(slot: Slot): void {
    if (this.announced.has(slot)) return;
    this.announced.add(slot);
    this.promise([slot]).catch(() => this.announced.delete(slot));
  }

  /** Renews what the request holds from now until its ticket is settled, of which `onSettle` is told. */
  open(reserved: NewTicket): Ticket {
    const ticket = new OpenTicket(this, reserved);
    this.tickets.set(ticket.requestId, ticket);
    return ticket;
  }

  /** Settles a ticket's part in its pool ahead of the others. */
  freePlaces(ticket: OpenTicket, durationMs: number): void {
    const { requestId, parts } = ticket;
    if (this.tickets.get(requestId) !== ticket || ticket.hasFreed) return;
    ticket.hasFreed = true;
    ticket.parts = parts.slice(0, -1);
    ticket.onSettle();
    void this.settle({ requestId, slots: slotsOf(parts.slice(-1)), charge: 0, durationMs });
  }

  /** Settles all that a ticket of this book holds. Only the first call counts. */
  settleTicket(ticket: OpenTicket, outcome: Outcome): Promise<void> {
    const { requestId, estimatedInputTokens, parts, seen, hasFreed } = ticket;
    if (this.tickets.get(requestId) !== ticket) return Promise.resolve();
    this.tickets.delete(requestId);
    if (!hasFreed) ticket.onSettle();
    if (parts.length === 0) return Promise.resolve();
    const charge = chargeOf(outcome, { inputTokens: estimatedInputTokens, outputTokens: seen });
    const durationMs = hasFreed ? undefined : outcome.durationMs;
    return this.settle({ requestId, slots: slotsOf(parts), charge, durationMs });
  }

  /** Never rejects: a settlement that Redis didn't take waits for the next round. */
  async settle(settlement: Settlement): Promise<void> {
    try {
      await this.options.ledger.settle(settlement);
    } catch {
      const [oldest] = this.unsettled.keys();
      if (this.unsettled.size >= maxUnsettled && oldest !== undefined) this.unsettled.delete(oldest);
      this.unsettled.set(`${settlement.slots.join(' ')} ${settlement.requestId}`, settlement);
    }
  }

  private schedule(): void {
    this.timer = this.options.clock.after(this.options.renewEveryMs, () => {
      this.schedule();
      this.runRound();
    });
    this.timer.unref();
  }

  private readonly runRound = (): void => {
    // A round that outlasts the interval takes the next one's place.
    this.round ??= this.lookAfter()
      .catch(() => undefined)
      .finally(() => {
        this.round = undefined;
      });
  };

  private async lookAfter(): Promise<void> {
    await this.settleLeftovers();
    await this.renew();
    await this.settleAbandoned();
  }

  private async settleLeftovers(): Promise<void> {
    for (const [name, settlement] of this.unsettled) {
      await this.options.ledger.settle(settlement);
      this.unsettled.delete(name);
    }
  }

  private async renew(): Promise<void> {
    const bySlot = new Map<Slot, OpenTicket[]>();
    for (const ticket of this.tickets.values()) {
      for (const slot of slotsOf(ticket.parts)) {
        const tickets = bySlot.get(slot);
        if (tickets) tickets.push(ticket);
        else bySlot.set(slot, [ticket]);
      }
    }
    this.announced.clear();
    if (bySlot.size > 0) await this.promise([...bySlot.keys()]);
    for (const slot of bySlot.keys()) this.announced.add(slot);
    for (const [slot, tickets] of bySlot) await this.renewSlot(slot, tickets);
  }

  private async renewSlot(slot: Slot, tickets: readonly OpenTicket[]): Promise<void> {
    for (let from = 0; from < tickets.length; from += renewalBatch) {
      // Some may have been settled since the round began: to renew them would bring them back.
      const batch = tickets
        .slice(from, from + renewalBatch)
        .filter(({ requestId }) => this.tickets.has(requestId));
      await this.options.ledger.renew(
        slot,
        batch.map((ticket) => renewalOf(ticket, slot)),
      );
    }
  }

  /** Slots of processes that died: nobody has renewed their promise. */
  private async settleAbandoned(): Promise<void> {
    const { redis, clock, slotsInUse, ledger } = this.options;
    for (const slot of await redis.zrangebyscore(slotsInUse, '-inf', clock.now(), 'LIMIT', 0, 100)) {
      const { requests } = await ledger.inspect(slot);
      if (requests === 0) await redis.zrem(slotsInUse, slot);
      else await this.promise([slot]);
    }
  }

  private async promise(slots: readonly Slot[]): Promise<void> {
    const { redis, clock, leaseMs, slotsInUse } = this.options;
    const until = clock.now() + leaseMs + 1000;
    await redis.zadd(slotsInUse, 'GT', ...slots.flatMap((slot) => [until, slot]));
    await redis.pexpire(slotsInUse, slotsInUseLifeMs);
  }
}

function renewalOf({ requestId, parts, seen }: OpenTicket, slot: Slot): Renewal {
  const part = parts.find(({ list }) => list.slot === slot);
  return { id: requestId, seen, leases: part ? leasesOf(part) : [] };
}

function leasesOf({ list, amounts }: Part): Renewal['leases'] {
  return list.holds.flatMap(({ primitive, key }, index) =>
    primitive === 'lease' ? [{ primitive, key, amount: amounts[index] ?? 0 }] : [],
  );
}

/** The written rule: what was reported, and in its place the input estimate and the output that was seen. */
function chargeOf({ usage }: Outcome, known: { inputTokens: number; outputTokens: number }): number {
  const { inputTokens = known.inputTokens, outputTokens = known.outputTokens } = usage ?? {};
  return Math.max(0, Math.ceil(inputTokens + outputTokens));
}
