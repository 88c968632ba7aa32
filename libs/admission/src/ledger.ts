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
const answerSchema = z.tuple([z.number(), z.number(), z.number()], z.number());
const holdingsSchema = z.object({ requests: z.number(), reserved: z.number(), levels });

/** The book of reservations in Redis, slot by slot. Every method is one script, atomic and safe to repeat. */
export class Ledger {
  private readonly redis: Redis | Cluster;
  private readonly leaseMs: number;
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

  async reserve(slot: Slot, { requestId, inputTokens, holds }: Reservation): Promise<Answer> {
    const values = [requestId, this.leaseMs, inputTokens, JSON.stringify(holds)];
    const reply = await runScript(this.redis, this.scripts.reserve, bookKeys(slot), values);
    const [refused, waitMs, meanMs, ...levels] = answerSchema.parse(reply);
    return {
      levels,
      ...(refused >= 0 && { refused }),
      ...(waitMs >= 0 && { waitMs }),
      ...(meanMs >= 0 && { meanMs }),
    };
  }

  /** True if there was something to settle: not before, and not by somebody who found the lease dead. */
  async settle(slot: Slot, { requestId, charge, service }: Settlement): Promise<boolean> {
    const values = [requestId, charge ?? '', service?.key ?? '', service?.durationMs ?? ''];
    return (await runScript(this.redis, this.scripts.settle, bookKeys(slot), values)) === 1;
  }

  async renew(slot: Slot, renewals: readonly Renewal[]): Promise<void> {
    await runScript(this.redis, this.scripts.renew, bookKeys(slot), [this.leaseMs, JSON.stringify(renewals)]);
  }

  /** Settles the dead first, so that it is also the way to look after a slot that nobody uses any more. */
  async inspect(slot: Slot, holds: readonly Hold[] = []): Promise<Holdings> {
    const reply = await runScript(this.redis, this.scripts.inspect, bookKeys(slot), [JSON.stringify(holds)]);
    return holdingsSchema.parse(JSON.parse(String(reply)));
  }
}
