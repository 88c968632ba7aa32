import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory } from '@sluice/tenancy';
import { type OwnTestRedis, startOwnRedis, startProcess, type TestProcess, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import type { LostCharge } from '../observation.ts';
import { tenantName } from '../plan.ts';
import { HeapGauge, inspectable } from './heap.ts';
import { Member, type Role } from './member.ts';
import { type FaultProxy, startFaultProxy } from './tcp-proxy.ts';
import { type MockUpstream, startMockUpstream } from './upstream.ts';

export interface InstallationOptions {
  ingresses?: number;
  /** Number of worker supervisors. */
  workers?: number;
  /** Worker processes under each supervisor; default 1. */
  processes?: number;
  tenants?: number;
  /** Tokens that a tenant may spend in all; absent: no limit. */
  budget?: number;
  /** Slots of each pool in each worker process; default 128. */
  slots?: number;
  /** Deadline of every request; default 30,000. */
  deadlineMs?: number;
  /** More arguments for Redis. */
  redisArguments?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  /**
   * Roots of the checkouts whose programs run. Each place takes them in turn and begins with that of its index, so that
   * both roles run all of them and each process that goes is followed by another version. Default: this one.
   */
  checkouts?: readonly string[];
}

const keySecret = 'a secret of the fault tests, long enough';

/** Real processes with a fault proxy between any two of them, and ways to break each of them. */
export class Installation {
  readonly ingresses: Member[] = [];
  readonly workers: Member[] = [];
  readonly redis: OwnTestRedis;
  readonly upstream: MockUpstream;
  readonly upstreamProxy: FaultProxy;
  readonly deadlineMs: number;
  /** A connection to Redis past all proxies, for reading its state and for operators' commands. */
  readonly operator: Redis;
  readonly budget: number | undefined;
  /** Credential by tenant. */
  readonly apiKeys = new Map<string, string>();
  /** Every credential that was ever valid. */
  readonly credentials = new Set<string>();
  /** What had been charged, each time that Redis lost its data. */
  readonly lostCharges: LostCharge[] = [];
  readonly heaps = new HeapGauge();
  private readonly folder: string;

  private constructor(
    parts: { redis: OwnTestRedis; upstream: MockUpstream; upstreamProxy: FaultProxy; folder: string },
    options: InstallationOptions,
  ) {
    this.redis = parts.redis;
    this.upstream = parts.upstream;
    this.upstreamProxy = parts.upstreamProxy;
    this.folder = parts.folder;
    this.deadlineMs = options.deadlineMs ?? 30_000;
    this.budget = options.budget;
    this.operator = new Redis(parts.redis.url, { maxRetriesPerRequest: 1, retryStrategy: () => 100 });
    this.operator.on('error', () => undefined);
  }

  static async start(options: InstallationOptions = {}): Promise<Installation> {
    const [folder, redis, upstream] = await Promise.all([
      mkdtemp(join(tmpdir(), 'sluice-faults-')),
      startOwnRedis({ arguments: options.redisArguments ?? [] }),
      startMockUpstream(),
    ]);
    const upstreamProxy = await startFaultProxy(upstream.port);
    const installation = new Installation({ redis, upstream, upstreamProxy, folder }, options);
    try {
      await installation.open(options);
      return installation;
    } catch (error) {
      await installation.stop();
      throw error;
    }
  }

  get members(): readonly Member[] {
    return [...this.ingresses, ...this.workers];
  }

  /** The worker that runs the most generations now. */
  async busiestWorker(): Promise<Member> {
    const busy = await Promise.all(
      this.workers.map(async (worker) => ({ worker, generations: await worker.metric('sluice_slots_busy') })),
    );
    const most = Math.max(...busy.map(({ generations }) => generations));
    const found = busy.find(({ generations }) => generations === most);
    if (!found || most === 0) throw new Error('No worker runs a generation');
    return found.worker;
  }

  /** Mints a key for each tenant, and again after Redis lost them. */
  async mintKeys(tenants: number): Promise<void> {
    const directory = new Directory({ redis: this.operator, secret: keySecret });
    for (let index = 0; index < tenants; index += 1) {
      const tenant = tenantName(index);
      await directory.upsertTenant(tenant);
      const { credential } = await directory.mint({ tenant });
      this.apiKeys.set(tenant, credential);
      this.credentials.add(credential);
      if (this.budget !== undefined)
        await directory.changeTenantLimits(tenant, { 'token-budget': { max: this.budget } });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
    this.operator.disconnect();
    await this.upstreamProxy.stop();
    await this.upstream.stop();
    await this.redis.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async open(options: InstallationOptions): Promise<void> {
    const { ingresses = 2, workers = 2, processes = 1, tenants = 50, checkouts = [] } = options;
    const settings = join(this.folder, 'sluice.json');
    await writeFile(settings, JSON.stringify(this.settings(options)));
    const environment = {
      SLUICE_KEY_SECRET: keySecret,
      SLUICE_CONFIG: settings,
      SLUICE_PORT: '0',
      SLUICE_OPS_PORT: '0',
      SLUICE_PROCESSES: String(processes),
      SLUICE_DRAIN_LIMIT_MS: '2000',
      ...inspectable,
      ...options.environment,
    };
    await this.mintKeys(tenants);
    const create = async (role: Role, index: number): Promise<Member> => {
      const proxy = await startFaultProxy(this.redis.port);
      let launches = index;
      const launch = (): Promise<TestProcess> => {
        const checkout = checkouts[launches++ % checkouts.length];
        return startProcess(`apps/${role}/src/main.ts`, {
          environment: { ...environment, SLUICE_REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
          ...(checkout !== undefined && { checkout }),
          readyLimitMs: 60_000,
        });
      };
      return Member.start({ role, index, launch, redisProxy: proxy });
    };
    const [startedIngresses, startedWorkers] = await Promise.all([
      Promise.all(Array.from({ length: ingresses }, (_, index) => create('ingress', index))),
      Promise.all(Array.from({ length: workers }, (_, index) => create('worker', index))),
    ]);
    this.ingresses.push(...startedIngresses);
    this.workers.push(...startedWorkers);
    const slots = (options.slots ?? 128) * workers * processes;
    for (const ingress of this.ingresses) {
      await until(async () => (await ingress.metric('sluice_pool_slots')) >= 2 * slots, {
        timeoutMs: 60_000,
        what: 'every worker to be known',
      });
    }
  }

  private settings({ slots = 128, checkouts = [] }: InstallationOptions): object {
    const baseUrl = `http://127.0.0.1:${this.upstreamProxy.port}/v1`;
    const requestTimeoutMs = this.deadlineMs;
    return {
      pools: {
        sim: { backend: { engine: 'simulated', slots } },
        up: {
          backend: {
            engine: 'upstream',
            baseUrl,
            slots,
            firstEventTimeoutMs: 4_000,
            idleTimeoutMs: 3_000,
            probeIntervalMs: 500,
          },
        },
      },
      models: {
        sim: { pool: 'sim', requestTimeoutMs },
        up: { pool: 'up', requestTimeoutMs },
        // Older versions may refuse settings that they don't know.
        ...(checkouts.length === 0 && {
          either: { pool: 'up', backendModel: 'up', requestTimeoutMs, fallbacks: ['sim'] },
        }),
      },
    };
  }
}
