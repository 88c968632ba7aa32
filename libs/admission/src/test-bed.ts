import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { type Admission, type AdmissionOptions, createAdmission } from './admission.ts';
import { checkList, type Hold, type Part } from './check-list.ts';
import type { Claim } from './claim.ts';
import type { Book } from './names.ts';

/** A test's own Redis, as far as this needs to know it. */
interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** What the tests of this folder share: connections and admissions on one Redis, claims, and their clean-up. */
export class TestBed<Given extends Server = Server> {
  readonly server: Given;
  private closers: (() => Promise<void> | void)[] = [];
  private requests = 0;

  constructor(server: Given) {
    this.server = server;
  }

  /** A connection that fails fast, as an ingress has it. */
  async connect(): Promise<Redis> {
    const redis = new Redis(this.server.url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 20,
    });
    redis.on('error', () => undefined);
    this.closers.push(() => redis.disconnect());
    await redis.connect();
    return redis;
  }

  /** One ingress' admission on a connection of its own; it renews only after `start`. */
  async admission(options: Partial<AdmissionOptions> = {}): Promise<Admission & { redis: Redis }> {
    const redis = await this.connect();
    const admission = createAdmission({ redis, ...options });
    this.closers.push(() => admission.close());
    return Object.assign(admission, { redis });
  }

  /** A claim of 100 tokens on a pool with room for all. */
  claim(changes: Partial<Claim> = {}): Claim {
    this.requests += 1;
    return {
      requestId: `request-${this.requests}`,
      tenant: 'acme',
      keyId: 'key_1',
      weight: 1,
      model: 'qwen-7b',
      pool: 'gpu',
      jobs: 1,
      estimatedInputTokens: 40,
      maxOutputTokens: 60,
      limits: { tenant: {}, key: {} },
      poolPolicy: { slots: 10_000, waitBudgetMs: 0 },
      ...changes,
    };
  }

  /** Closes what was opened, last first, and empties Redis. */
  async reset(): Promise<void> {
    for (const close of this.closers.reverse()) await close();
    this.closers = [];
    const redis = new Redis(this.server.url);
    await redis.flushall();
    redis.disconnect();
  }

  async close(): Promise<void> {
    await this.reset();
    await this.server.stop();
  }
}

/** A check and how much is asked of it. */
export type Asked = Hold & { readonly amount: number };

/** A part of a request, from its checks and amounts. */
export function partOf(book: Book, asked: readonly Asked[]): Part {
  const holds = asked.map(({ amount: _, ...hold }) => hold);
  return { list: checkList(book, holds), amounts: asked.map(({ amount }) => amount) };
}

/** A Cluster of one node that owns all slots: it refuses a script that spans two of them as a large one does. */
export async function startClusterOfOne(): Promise<OwnTestRedis> {
  const server = await startOwnRedis({
    arguments: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
  });
  const node = new Redis(server.url);
  await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  node.disconnect();
  return server;
}

/** How many of the promises were fulfilled, and the errors of the others. */
export async function outcomes(work: Promise<unknown>[]): Promise<{ kept: number; errors: unknown[] }> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  return { kept: settled.length - errors.length, errors };
}
