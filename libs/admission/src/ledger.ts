import { SluiceError } from '@sluice/canonical';
import { TurnBatch } from '@sluice/runtime';
import type { Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import type { Check } from './limit.ts';
import { bookKeys, type Slot } from './names.ts';
import { readScript, runScript } from './script.ts';

/** A check and where it counts. */
export type Hold = Check & { key: string };

export interface Reservation {
  requestId: string;
  inputTokens: number;
  holds: readonly Hold[];
}

/** What Redis says to a reservation. */
export interface Answer {
  /** The hold that said no, so that none was taken; absent means that all were. */
  refused?: number;
  /** After which time the refused hold would have fitted; absent means not known. */
  waitMs?: number;
  /** Mean service time of the pool, if a hold asked for it. */
  meanMs?: number;
  /** For how long the pool has been busy; 0 while it is not. */
  busyForMs: number;
  /** What each hold saw before it took, up to the one that said no. */
  levels: number[];
}

export interface Renewal {
  id: string;
  seen: number;
  leases: readonly { primitive: 'lease'; key: string; amount: number }[];
}

export interface Settlement {
  requestId: string;
  /** Tokens to book; absent gives everything back as if it had never been taken. */
  charge?: number;
  /** Adds this generation to the mean service time under `key`. */
  service?: { key: string; durationMs: number };
}

export interface Holdings {
  requests: number;
  /** Tokens that are reserved and not yet spent. */
  reserved: number;
  levels: number[];
}

// An empty Lua table has no telling whether it is a list.
const levels = z.preprocess((value) => (Array.isArray(value) ? value : []), z.array(z.number()));
const settledSchema = z.array(z.number());
const holdingsSchema = z.object({ requests: z.number(), reserved: z.number(), levels });

/**
 * The book of reservations in Redis, slot by slot. Every method is one script, atomic and safe to repeat; what is
 * reserved, and what is settled, in one event-loop turn shares one.
 */
export class Ledger {
  private readonly redis: Redis | Cluster;
  private readonly leaseMs: number;
  private readonly reserves = new Map<Slot, TurnBatch<Reservation, Answer>>();
  private readonly settles = new Map<Slot, TurnBatch<Settlement, boolean>>();
  private readonly scripts = {
    reserve: readScript('reserve'),
    settle: readScript('settle'),
    renew: readScript('renew'),
    inspect: readScript('inspect'),
  };

  /** `leaseMs`: how long a reservation lives without renewal. */
  constructor(redis: Redis | Cluster, leaseMs: number) {
    this.redis = redis;
    this.leaseMs = leaseMs;
  }

  reserve(slot: Slot, reservation: Reservation): Promise<Answer> {
    return batchOf(this.reserves, slot, (reservations) => this.reserveAll(slot, reservations)).add(
      reservation,
    );
  }

  /** True if there was something to settle: not before, and not by somebody who found the lease dead. */
  settle(slot: Slot, settlement: Settlement): Promise<boolean> {
    return batchOf(this.settles, slot, (settlements) => this.settleAll(slot, settlements)).add(settlement);
  }

  async renew(slot: Slot, renewals: readonly Renewal[]): Promise<void> {
    await runScript(this.redis, this.scripts.renew, bookKeys(slot), [this.leaseMs, JSON.stringify(renewals)]);
  }

  /** Settles the dead first, so that it is also the way to look after a slot that nobody uses any more. */
  async inspect(slot: Slot, holds: readonly Hold[] = []): Promise<Holdings> {
    const reply = await runScript(this.redis, this.scripts.inspect, bookKeys(slot), [JSON.stringify(holds)]);
    return holdingsSchema.parse(JSON.parse(String(reply)));
  }

  private async reserveAll(slot: Slot, reservations: readonly Reservation[]): Promise<Answer[]> {
    const values = reservations.flatMap(({ requestId, inputTokens, holds }) => [
      requestId,
      inputTokens,
      JSON.stringify(holds),
    ]);
    const script = this.scripts.reserve;
    return answersOf(await runScript(this.redis, script, bookKeys(slot), [this.leaseMs, ...values])).map(
      ([refused = -1, waitMs = -1, meanMs = -1, busyForMs = 0, ...levels]) => ({
        levels,
        busyForMs,
        ...(refused >= 0 && { refused }),
        ...(waitMs >= 0 && { waitMs }),
        ...(meanMs >= 0 && { meanMs }),
      }),
    );
  }

  private async settleAll(slot: Slot, settlements: readonly Settlement[]): Promise<boolean[]> {
    const values = settlements.flatMap(({ requestId, charge, service }) => [
      requestId,
      charge ?? '',
      service?.key ?? '',
      service?.durationMs ?? '',
    ]);
    const reply = await runScript(this.redis, this.scripts.settle, bookKeys(slot), values);
    return settledSchema.parse(reply).map((settled) => settled === 1);
  }
}

/** Slots are pools and tenants: a batch for each that was seen lately. */
const batchesKept = 10_000;

function batchOf<Item, Reply>(
  batches: Map<Slot, TurnBatch<Item, Reply>>,
  slot: Slot,
  ask: (items: readonly Item[]) => Promise<readonly Reply[]>,
): TurnBatch<Item, Reply> {
  let batch = batches.get(slot);
  if (!batch) {
    // What is under way in a forgotten batch still gets its answer.
    if (batches.size >= batchesKept) batches.clear();
    batch = new TurnBatch(ask);
    batches.set(slot, batch);
  }
  return batch;
}

/** The scripts are ours and travel with this file: a look at the shape is enough, and costs nothing per request. */
function answersOf(reply: unknown): number[][] {
  if (Array.isArray(reply) && reply.every(Array.isArray)) return reply;
  throw new SluiceError('internal', 'the ledger answered in an unknown shape');
}
