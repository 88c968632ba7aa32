import type { Clock, Timer } from '@sluice/runtime';
import { runLuaScript } from '@sluice/transport';
import { Cluster, type Redis } from 'ioredis';
import { type Part, slotsOf } from './check-list.ts';
import type { Claim, Outcome, Ticket } from './claim.ts';
import type { Ledger, Renewal, Settlement } from './ledger.ts';
import type { Slot } from './names.ts';
import { readSlotScript } from './script.ts';

interface NewTicket {
  claim: Claim;
  parts: readonly Part[];
  priorities: readonly number[];
  onSettle(): void;
}

/** An admitted request of this process that is not settled. */
class OpenTicket implements Ticket {
  readonly requestId: string;
  readonly estimatedInputTokens: number;
  /** Those that are held still; that of the pool is the last. */
  parts: readonly Part[];
  hasFreed = false;
  /** Output tokens seen so far. */
  seen = 0;
  readonly onSettle: () => void;
  private readonly book: TicketBook;
  private readonly priorities: readonly number[];

  constructor(book: TicketBook, { claim, parts, priorities, onSettle }: NewTicket) {
    this.book = book;
    this.onSettle = onSettle;
    this.requestId = claim.requestId;
    this.estimatedInputTokens = claim.estimatedInputTokens;
    this.parts = parts;
    this.priorities = priorities;
  }

  priorityOf(job: number): number {
    // Whose admission was not heard have entered already.
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

export interface TicketBookOptions {
  redis: Redis | Cluster;
  ledger: Ledger;
  clock: Pick<Clock, 'after'>;
  leaseMs: number;
  renewEveryMs: number;
  /** Key of `AdmissionNames.slotsInUse`. */
  slotsInUse: string;
}

/** Tickets per script: some 2 ms of Redis. */
const renewalBatch = 200;
/** Settlements per script, for the same reason. */
const leftoverBatch = 200;
/** Settlements kept while Redis is away; past it the oldest are left to the rule for dead leases. */
const maxUnsettled = 100_000;
const slotsInUseLifeMs = 7 * 24 * 3600 * 1000;
/** Slots of dead processes that one round looks after. */
const abandonedPerRound = 100;
const promiseScript = readSlotScript('promise');
const abandonedScript = readSlotScript('abandoned');

/**
 * Keeps what this process holds alive, and settles what it and others left behind. Everything it does may fail
 * with Redis and is done again at the next round, or the moment Redis is back. Each thing fails by itself: in a Cluster
 * one master may be away and the others not.
 */
export class TicketBook {
  private readonly options: TicketBookOptions;
  private readonly tickets = new Map<string, OpenTicket>();
  private readonly unsettled = new Map<string, Settlement>();
  /** Slots that this process told the others of since the last round. */
  private readonly announced = new Set<Slot>();
  private timer: Timer | undefined;
  private renewing: Promise<void> | undefined;
  private settling: Promise<void> | undefined;

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
    await Promise.all([this.renewing, this.settling]);
    await this.settleLeftovers();
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
    // One that outlasts the interval takes the next one's place. What lives does not wait for what has ended.
    this.renewing ??= this.renew().finally(() => {
      this.renewing = undefined;
    });
    this.settling ??= this.settleLeftovers()
      .then(() => this.settleAbandoned())
      .catch(() => undefined)
      .finally(() => {
        this.settling = undefined;
      });
  };

  /** Never rejects. */
  private async settleLeftovers(): Promise<void> {
    const leftovers = [...this.unsettled];
    for (let from = 0; from < leftovers.length; from += leftoverBatch) {
      const settled = await Promise.all(
        leftovers.slice(from, from + leftoverBatch).map(([name, settlement]) => this.retry(name, settlement)),
      );
      // Redis is away, or with it the master of all of these, which stand behind the others now.
      if (!settled.includes(true)) return;
    }
  }

  /** Tries a settlement again; one that fails goes behind the others. */
  private async retry(name: string, settlement: Settlement): Promise<boolean> {
    const isSettled = await this.options.ledger.settle(settlement).then(
      () => true,
      () => false,
    );
    this.unsettled.delete(name);
    if (!isSettled) this.unsettled.set(name, settlement);
    return isSettled;
  }

  /** Never rejects. */
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
    const slots = [...bySlot.keys()];
    const promised = this.promise(slots).then(
      () => {
        for (const slot of slots) this.announced.add(slot);
      },
      () => undefined,
    );
    await this.eachSlot(slots, (slot) => this.renewSlot(slot, bySlot.get(slot) ?? []));
    await promised;
  }

  /**
   * Visits slots, each of which may fail. In a Cluster at once, since a master that is away is waited for; a single
   * Redis fails for all or answers, and has others to serve meanwhile.
   */
  private async eachSlot(slots: readonly Slot[], visit: (slot: Slot) => Promise<void>): Promise<void> {
    const safely = (slot: Slot): Promise<void> => visit(slot).catch(() => undefined);
    if (this.options.redis instanceof Cluster) await Promise.all(slots.map(safely));
    else for (const slot of slots) await safely(slot);
  }

  private async renewSlot(slot: Slot, tickets: readonly OpenTicket[]): Promise<void> {
    for (let from = 0; from < tickets.length; from += renewalBatch) {
      const batch = tickets.slice(from, from + renewalBatch);
      await this.options.ledger.renew(slot, () =>
        // Some may have been settled since the round began: to renew them would bring them back.
        batch.flatMap((ticket) => (this.tickets.has(ticket.requestId) ? renewalsOf(ticket, slot) : [])),
      );
    }
  }

  /** Slots of processes that died: nobody has renewed their promise. */
  private async settleAbandoned(): Promise<void> {
    const { redis, slotsInUse, ledger } = this.options;
    const found = await runLuaScript(redis, abandonedScript, [slotsInUse], [abandonedPerRound]);
    const slots = Array.isArray(found) ? found.map(String) : [];
    await this.eachSlot(slots, async (slot) => {
      // Where nobody answers, the next look is as far away as where there is something to look after.
      const requests = await ledger.inspect(slot).then(
        (holdings) => holdings.requests,
        () => undefined,
      );
      if (requests === 0) await redis.zrem(slotsInUse, slot);
      else await this.promise([slot]);
    });
  }

  private async promise(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const { redis, leaseMs, slotsInUse } = this.options;
    await runLuaScript(redis, promiseScript, [slotsInUse], [leaseMs + 1000, slotsInUseLifeMs, ...slots]);
  }
}

/** Empty where nothing is held in the slot any more. */
function renewalsOf({ requestId, parts, seen }: OpenTicket, slot: Slot): Renewal[] {
  const part = parts.find(({ list }) => list.slot === slot);
  return part ? [{ id: requestId, seen, leases: leasesOf(part) }] : [];
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
