import type { RateState, SluiceError } from '@sluice/canonical';
import { type Clock, systemClock, withoutRedis } from '@sluice/runtime';
import type { ScopedLimits } from '@sluice/tenancy';
import type { Cluster, Redis } from 'ioredis';
import { KnownChecks } from './caller-checks.ts';
import { booksOf, type Part } from './check-list.ts';
import type { Claim, Entrance, Ticket } from './claim.ts';
import { FullPools } from './full-pools.ts';
import { type Answer, Ledger, type Reservation } from './ledger.ts';
import type { Estimate } from './limit.ts';
import { type MemoryGate, memoryRefusal } from './memory-gate.ts';
import { type Book, booksInUse, policyKey, tenantBook } from './names.ts';
import type { ScopedLimit } from './policy.ts';
import { rateStates } from './rate-states.ts';
import { limits } from './registry.ts';
import { refuseSaturated, refuseWithoutWorkers, saturationRefusal, workersRefusal } from './saturation.ts';
import { Tickets } from './tickets.ts';

/** How the admission of one process works. */
export interface AdmissionOptions {
  /** Connection for commands. It should fail fast, because requests wait for its replies. */
  redis: Redis | Cluster;
  /** Default: the host's. */
  clock?: Clock;
  /** Checked before everything else; absent means that the memory of Redis is not watched. */
  memoryGate?: Pick<MemoryGate, 'check'>;
  /** How long a dead process's reservations live, in milliseconds; default 15,000. */
  leaseMs?: number;
  /** Milliseconds between renewals; default a third of `leaseMs`. */
  renewEveryMs?: number;
}

/** What is reserved now; all zero when nothing is in flight. */
export interface Inspection {
  /** Tickets of this process that are not settled. */
  open: number;
  /** Settlements of this process that Redis has not taken yet. */
  unsettled: number;
  /** Requests and reserved tokens of all processes, by book: `…{p:pool}` and `…{t:tenant}`. */
  books: Record<Book, { requests: number; reservedTokens: number }>;
}

/** How much of one policy is used. The use of a rate decays by itself; that of a budget includes what is reserved. */
export interface LimitUsage {
  limit: string;
  used: number;
  max: number;
}

/** Decides which requests may enter the queue. */
export interface Admission {
  /**
   * Reserves all that the claim needs, or nothing. Throws `rate-limited`, `budget-exhausted` or `saturated`, each
   * naming its limit, or `unavailable` if no worker lives, Redis is full, or Redis does not answer.
   *
   * With an `entrance`, the jobs of an admitted claim enter the pool's queue in the same atomic step. So an admitted
   * request is never missing from the queue, and its first token comes one round trip to Redis earlier.
   *
   * `onRates` gets the caller's rates whenever Redis was asked, refused or not, before the promise settles.
   */
  admit(claim: Claim, entrance?: Entrance, onRates?: (rates: RateState[]) => void): Promise<Ticket>;
  /**
   * Throws `saturated` if every one of these pools is known to refuse all claims of this tenant now. It does not ask
   * Redis, so that a flood can be refused before its bodies are read. If it does not throw, a claim may still be
   * refused.
   */
  checkPools(pools: Iterable<string>, tenant: string): void;
  inspect(): Promise<Inspection>;
  /** How much of the policies of a tenant and a key is used. */
  usage(subject: { tenant: string; keyId?: string; limits: ScopedLimits }): Promise<LimitUsage[]>;
  /** Deletes all counts of a tenant and of these keys of it. Budgets also forget what is in flight. */
  forget(tenant: string, keyIds: readonly string[]): Promise<void>;
  /** Deletes all counts of these keys of a tenant, and not its own. */
  forgetKeys(tenant: string, keyIds: readonly string[]): Promise<void>;
  /** Begins to renew the leases of admitted requests. */
  start(): Promise<void>;
  /** Stops renewing. Tickets that are still open expire with their leases. */
  close(): Promise<void>;
}

/** Every `refusedBy` of admission's errors: the limits, and the three that no policy sets. */
export const refusalNames: readonly string[] = [
  ...limits.map(({ name }) => name),
  saturationRefusal,
  workersRefusal,
  memoryRefusal,
];

/** Output tokens that are reserved for a generation without a maximum. */
const assumedOutputTokens = 1_024;

/** For a claim with which nothing enters a queue. */
const noEntrance: Entrance = { entries: () => [], isRunning: () => false };

/** Stands for the lost reply to a reservation that must have been admitted, because its jobs run. */
const admittedUnheard: Answer = {
  refused: undefined,
  waitMs: undefined,
  meanMs: undefined,
  levels: [],
  priorities: [],
};

/** Opens the admission of one process. */
export function createAdmission(options: AdmissionOptions): Admission {
  return new RedisAdmission(options);
}

class RedisAdmission implements Admission {
  private readonly options: AdmissionOptions;
  private readonly ledger: Ledger;
  private readonly clock: Clock;
  private readonly tickets: Tickets;
  private readonly checks = new KnownChecks();
  private readonly fullPools: FullPools;

  constructor(options: AdmissionOptions) {
    const { redis, clock = systemClock, leaseMs = 15_000 } = options;
    this.options = options;
    this.clock = clock;
    this.ledger = new Ledger(redis, leaseMs);
    this.fullPools = new FullPools(() => clock.monotonic());
    this.tickets = new Tickets({
      redis,
      ledger: this.ledger,
      clock,
      leaseMs,
      renewEveryMs: options.renewEveryMs ?? Math.floor(leaseMs / 3),
      onFreed: (pool, jobs) => this.fullPools.freed(pool, jobs),
    });
  }

  async start(): Promise<void> {
    this.tickets.start();
  }

  close(): Promise<void> {
    return this.tickets.close();
  }

  async admit(claim: Claim, entrance = noEntrance, onRates?: (rates: RateState[]) => void): Promise<Ticket> {
    this.options.memoryGate?.check();
    if (claim.poolPolicy.slots <= 0) throw refuseWithoutWorkers(claim);
    const { requestId, tenant, pool, jobs } = claim;
    const full = this.fullPools.refusal(pool, tenant, jobs);
    if (full) throw full;
    const estimate = this.estimate(claim);
    const caller = this.checks.ofCaller(claim);
    const { policies } = caller;
    const amounts = policies.map(({ limit }) => limit.amount(claim, estimate));
    const ofPool = { list: this.checks.ofPool(caller, pool, claim.poolPolicy), amounts: [jobs, jobs] };
    const parts: Part[] = amounts.length > 0 ? [{ list: caller.list, amounts }, ofPool] : [ofPool];
    // A freed place must not be spent on a request that a policy refuses. With policies, only the answer tells whether
    // one does.
    const early = amounts.length > 0 ? undefined : this.fullPools.ask(pool, tenant, jobs);
    const entries = entrance.entries();
    const reservation: Reservation = { requestId, inputTokens: estimate.inputTokens, parts, entries };
    for (const { list } of parts) this.tickets.announce(list.book);
    let answer: Answer;
    try {
      answer = await this.ledger.reserve(reservation);
    } catch (cause) {
      answer = await this.withoutReply(reservation, entrance, cause);
    }
    if (amounts.length > 0) onRates?.(rateStates(policies, amounts, answer, this.clock.now()));
    this.refuseByPolicy(policies, amounts, answer);
    const permission = early ?? this.fullPools.ask(pool, tenant, jobs);
    const { refused, levels, priorities } = answer;
    if (refused !== undefined) {
      const inPool = levels[amounts.length] ?? 0;
      const refusal = refuseSaturated(claim, inPool, answer);
      // The pool's check comes first and refuses everyone; the one after it refuses only tenants that have had their
      // share.
      this.fullPools.refused(pool, jobs, refusal, refused === amounts.length ? undefined : tenant);
      throw refusal;
    }
    this.fullPools.admitted(pool, permission);
    return this.tickets.open({ claim, parts, priorities });
  }

  checkPools(pools: Iterable<string>, tenant: string): void {
    let refusal: SluiceError | undefined;
    for (const pool of pools) {
      refusal = this.fullPools.refusal(pool, tenant, 1);
      if (!refusal) return;
    }
    if (refusal) throw refusal;
  }

  async inspect(): Promise<Inspection> {
    const books: Inspection['books'] = {};
    for (const book of await this.options.redis.zrange(booksInUse, '0', '-1')) {
      const { requests, reserved } = await this.ledger.inspect(book);
      books[book] = { requests, reservedTokens: reserved };
    }
    return { open: this.tickets.openCount, unsettled: this.tickets.unsettledCount, books };
  }

  async usage(subject: { tenant: string; keyId?: string; limits: ScopedLimits }): Promise<LimitUsage[]> {
    const { tenant, keyId = '', limits } = subject;
    const { policies, list } = this.checks.ofCaller({ tenant, keyId, limits });
    const { levels } = await this.ledger.inspect(list.book, list.holds);
    return policies.map(({ limit: { name, check } }, index) => ({
      limit: name,
      used: levels[index] ?? 0,
      max: check.max,
    }));
  }

  async forget(tenant: string, keyIds: readonly string[]): Promise<void> {
    await this.forgetScopes(tenant, [undefined, ...keyIds]);
  }

  async forgetKeys(tenant: string, keyIds: readonly string[]): Promise<void> {
    await this.forgetScopes(tenant, keyIds);
  }

  private async forgetScopes(tenant: string, scopes: readonly (string | undefined)[]): Promise<void> {
    const book = tenantBook(tenant);
    await this.options.redis.unlink(
      limits.flatMap(({ name }) => scopes.map((id) => policyKey(book, name, id))),
    );
  }

  private estimate({ jobs, estimatedInputTokens, maxOutputTokens }: Claim): Estimate {
    const inputTokens = Math.max(0, Math.ceil(estimatedInputTokens));
    return { inputTokens, totalTokens: inputTokens + jobs * (maxOutputTokens ?? assumedOutputTokens) };
  }

  /**
   * Answers for a reservation whose reply was lost, although the script may have run: a request whose jobs already run
   * must have been admitted, any other is given up, so that nothing is taken even if the script runs after that. Throws
   * `unavailable` for that.
   */
  private async withoutReply(
    { requestId, parts }: Reservation,
    { isRunning }: Entrance,
    cause: unknown,
  ): Promise<Answer> {
    if (isRunning()) return admittedUnheard;
    await this.tickets.settle({ requestId, books: booksOf(parts) });
    throw withoutRedis('admission does not answer', cause);
  }

  /** Throws if the check that refused belongs to a policy. The checks of the policies come before that of the pool. */
  private refuseByPolicy(
    policies: readonly ScopedLimit[],
    amounts: readonly number[],
    { refused = -1, levels, waitMs }: Answer,
  ): void {
    const policy = policies[refused];
    if (!policy) return;
    const { scope, limit } = policy;
    const [amount = 0, level = 0] = [amounts[refused], levels[refused]];
    throw limit.refuse({ scope, amount, level, ...(waitMs !== undefined && { waitMs }) });
  }
}
