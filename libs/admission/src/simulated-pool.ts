import { poolQueueKeys } from '@sluice/transport';
import { type Redis, ReplyError } from 'ioredis';
import { type CheckList, checkList } from './check-list.ts';
import { Ledger } from './ledger.ts';
import { poolCheck, tenantShareCheck } from './saturation.ts';

/** A tenant whose users each always have one request outstanding; a refused request comes again. */
export interface SimulatedTenant {
  name: string;
  users: number;
  /** Default 1. */
  weight?: number;
  /** Answers that each request asks for; default 1. */
  jobs?: number;
  serviceMs: number;
  /** When its users arrive; default at the beginning. */
  fromMs?: number;
}

/** What one tenant got. */
export interface Served {
  /** Its share of the time of all slots. */
  share: number;
  /** How long the admitted generations waited for their slot, ascending. */
  waitsMs: number[];
  refused: number;
}

interface Asking {
  id: string;
  tenant: SimulatedTenant;
  at: number;
  left: number;
}

interface Due {
  at: number;
  happen(at: number): Promise<void>;
}

const pool = 'gpu';
const book = `sluice:{p:${pool}}`;
const retryMs = 1000;

/**
 * A pool under load in which only the scripts are real. Time is simulated, for Redis, too, and the random numbers are a
 * fixed sequence, so that the same load gives the same figures.
 */
export class SimulatedPool {
  private readonly redis: Redis;
  private readonly policy: { slots: number; waitBudgetMs: number };
  private readonly ledger: Ledger;
  private readonly lists = new Map<string, CheckList>();
  private readonly served = new Map<string, Served>();
  private readonly asking = new Map<string, Asking>();
  private readonly dues: Due[] = [];
  private free: number;
  private requests = 0;
  private draws = 0;
  private warmAt = 0;

  constructor(redis: Redis, policy: { slots: number; waitBudgetMs: number }) {
    this.redis = redis;
    this.policy = policy;
    this.free = policy.slots;
    this.ledger = new Ledger(withOwnTime(redis), 1_000_000_000);
  }

  /**
   * Returns what each tenant got from `warmMs` until `forMs`. A second run continues the first, with its users, too.
   */
  async run(
    tenants: readonly SimulatedTenant[],
    { warmMs, forMs }: { warmMs: number; forMs: number },
  ): Promise<Served[]> {
    this.warmAt = warmMs;
    for (const tenant of tenants) {
      this.served.set(tenant.name, { share: 0, waitsMs: [], refused: 0 });
      const { users, fromMs = 0 } = tenant;
      for (let user = 0; user < users; user += 1) this.comeAgain(tenant, fromMs + 50 * this.chance());
    }
    for (let due = this.next(); due && due.at < forMs; due = this.next()) await due.happen(due.at);
    return tenants.map(({ name }) => {
      const { share, waitsMs, refused } = this.servedOf(name);
      const all = this.policy.slots * (forMs - warmMs);
      return { share: share / all, waitsMs: waitsMs.toSorted((one, other) => one - other), refused };
    });
  }

  private comeAgain(tenant: SimulatedTenant, at: number): void {
    this.dues.push({ at, happen: (now) => this.ask(tenant, now) });
  }

  private async ask(tenant: SimulatedTenant, at: number): Promise<void> {
    const { jobs = 1, name } = tenant;
    this.requests += 1;
    const id = `request-${this.requests}`;
    this.setTime(at);
    const entries = Array.from({ length: jobs }, (_, job) => ({
      id: `${id}:${job}`,
      data: '{}',
      lifeMs: 1e9,
    }));
    const { refused } = await this.ledger.reserve({
      requestId: id,
      inputTokens: 1,
      parts: [{ list: this.listOf(tenant), amounts: [jobs, jobs] }],
      entries,
    });
    if (refused === undefined) {
      this.asking.set(id, { id, tenant, at, left: jobs });
      await this.fill(at);
      return;
    }
    if (at >= this.warmAt) this.servedOf(name).refused += 1;
    this.comeAgain(tenant, at + retryMs * (0.5 + this.chance()));
  }

  /** Plays the workers: each free slot takes the first job of the queue. */
  private async fill(at: number): Promise<void> {
    while (this.free > 0) {
      const [job] = await this.redis.zpopmin(poolQueueKeys(pool).prioritized);
      const asking = this.asking.get(job?.split(':')[0] ?? '');
      if (!asking) return;
      this.free -= 1;
      const { tenant } = asking;
      const tookMs = tenant.serviceMs * (0.5 + this.chance());
      if (asking.at >= this.warmAt) this.servedOf(tenant.name).waitsMs.push(at - asking.at);
      this.dues.push({ at: at + tookMs, happen: (now) => this.end(asking, now, tookMs) });
    }
  }

  private async end(asking: Asking, at: number, tookMs: number): Promise<void> {
    const { id, tenant } = asking;
    this.free += 1;
    asking.left -= 1;
    this.servedOf(tenant.name).share += Math.max(0, Math.min(tookMs, at - this.warmAt));
    if (asking.left === 0) {
      this.asking.delete(id);
      this.setTime(at);
      await this.ledger.settle({ requestId: id, books: [book], charge: 0, durationMs: tookMs });
      this.comeAgain(tenant, at);
    }
    await this.fill(at);
  }

  private next(): Due | undefined {
    let first = 0;
    for (let index = 1; index < this.dues.length; index += 1) {
      if ((this.dues[index]?.at ?? 0) < (this.dues[first]?.at ?? 0)) first = index;
    }
    return this.dues.splice(first, 1)[0];
  }

  /** Numbers from 0 to 1, evenly spread, in an order that does not resonate with the load. */
  private chance(): number {
    this.draws += 1;
    return (this.draws * 0.6180339887498949) % 1;
  }

  private servedOf(tenant: string): Served {
    const served = this.served.get(tenant);
    if (!served) throw new Error(`${tenant} is not there`);
    return served;
  }

  private listOf({ name, weight = 1 }: SimulatedTenant): CheckList {
    const asked = `${name} ${weight}`;
    const known = this.lists.get(asked);
    if (known) return known;
    const list = checkList(book, [
      { ...poolCheck(pool, this.policy, book), key: `${book}:leases:all` },
      { ...tenantShareCheck(weight), key: `${book}:leases:of:${name}` },
    ]);
    this.lists.set(asked, list);
    return list;
  }

  /** Whatever is asked after it on the same connection happens at this time. */
  private setTime(at: number): void {
    const us = Math.round((1e12 + at) * 1000);
    void this.redis
      .multi()
      .del(timeKey)
      .rpush(timeKey, Math.floor(us / 1e6), us % 1e6)
      .exec();
  }
}

const timeKey = `${book}:time`;

/**
 * The connection, on which scripts read the time from a key. Their text is changed, so they are never run by digest.
 */
function withOwnTime(redis: Redis): Redis {
  const methods: Record<string | symbol, unknown> = {
    callBuffer: (command: 'evalsha' | 'eval', source: string, ...values: string[]) =>
      command === 'evalsha'
        ? Promise.reject(new ReplyError('NOSCRIPT'))
        : redis.callBuffer(
            'eval',
            source.replace("redis.call('TIME')", `redis.call('LRANGE', '${timeKey}', 0, -1)`),
            ...values,
          ),
  };
  return new Proxy(redis, { get: (target, name) => methods[name] ?? Reflect.get(target, name) });
}
