import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Directory } from '@sluice/tenancy';
import { startProcess, startRedis, type TestProcess, type TestRedis, until } from '@sluice/testing';
import { openRedis } from '@sluice/transport';
import { repository } from './repository.ts';
import { servingIn } from './serving.ts';

export interface GatewayOptions {
  /** Default 1. */
  ingresses?: number;
  /** Supervised worker processes; default 1. */
  workers?: number;
  /** Pools, models and aliases; default: the built-in simulated model. */
  settings?: object;
  /** More environment for every process. */
  environment?: Record<string, string>;
  /** A Redis of the test's own; default: one that lives as long as the gateway. */
  redis?: TestRedis;
}

/** A whole installation of real processes on one Redis. */
export interface Gateway {
  readonly baseUrls: readonly string[];
  /** The first of them. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly redisUrl: string;
  readonly ingresses: readonly TestProcess[];
  /** The supervisors; the process ids of their first workers are in `ready.workers`. */
  readonly workers: readonly TestProcess[];
  readonly environment: Readonly<Record<string, string>>;
  startIngress(): Promise<TestProcess>;
  /** `more`: further environment, of this worker alone. */
  startWorker(more?: Record<string, string>): Promise<TestProcess>;
  /** Runs the operator's CLI and returns what it printed. */
  cli(...words: string[]): Promise<string>;
  /** The value of a metric summed over its series and over all ingresses. */
  metric(name: string, labels?: Record<string, string>): Promise<number>;
  /** The worker process that runs the most generations now. Nobody can choose which worker gets a job. */
  busiestWorker(): Promise<BusyWorker>;
  /** The same, as soon as it runs any. A new worker may have a job before it says where its metrics are. */
  workerAtWork(): Promise<BusyWorker>;
  stop(): Promise<void>;
}

/** A worker process, and how many generations it runs. */
export interface BusyWorker {
  supervisor: TestProcess;
  pid: number;
  generations: number;
}

const run = promisify(execFile);
const keySecret = 'a secret of the tests, 32 letters';

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-gateway-'));
  const redis = options.redis ?? (await startRedis());
  const environment: Record<string, string> = {
    SLUICE_REDIS_URL: redis.url,
    SLUICE_KEY_SECRET: keySecret,
    SLUICE_PORT: '0',
    SLUICE_OPS_PORT: '0',
    SLUICE_DRAIN_LIMIT_MS: '5000',
    ...options.environment,
  };
  if (options.settings) {
    environment.SLUICE_CONFIG = join(folder, 'sluice.json');
    await writeFile(environment.SLUICE_CONFIG, JSON.stringify(options.settings));
  }
  const cli = async (...words: string[]): Promise<string> => {
    const { stdout } = await run(process.execPath, ['apps/cli/src/main.ts', ...words], {
      cwd: repository,
      env: { ...process.env, ...environment },
    });
    return stdout;
  };
  const ingresses: TestProcess[] = [];
  const workers: TestProcess[] = [];
  const startIngress = async () => {
    const started = await startProcess('apps/ingress/src/main.ts', { environment });
    ingresses.push(started);
    return started;
  };
  const startWorker = async (more: Record<string, string> = {}) => {
    const started = await startProcess('apps/worker/src/main.ts', {
      environment: { ...environment, ...more },
    });
    workers.push(started);
    return started;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(ingresses.map((ingress) => ingress.stop()));
    await Promise.all(workers.map((worker) => worker.stop()));
    if (!options.redis) await redis.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [apiKey] = await Promise.all([
      mintKey(environment),
      ...Array.from({ length: options.ingresses ?? 1 }, startIngress),
      ...Array.from({ length: options.workers ?? 1 }, () => startWorker()),
    ]);
    const baseUrls = ingresses.map((ingress) => `http://127.0.0.1:${ingress.ready.port}`);
    const gateway: Gateway = {
      baseUrls,
      baseUrl: baseUrls[0] ?? '',
      apiKey,
      redisUrl: redis.url,
      ingresses,
      workers,
      environment,
      startIngress,
      startWorker,
      cli,
      metric: (name, labels) =>
        sumMetric(
          ingresses.map(({ ready }) => ready.opsPort),
          name,
          labels,
        ),
      busiestWorker: () => findBusiest(workers),
      workerAtWork: () =>
        until(async () => {
          const busiest = await findBusiest(workers);
          return busiest.generations > 0 ? busiest : undefined;
        }),
      stop,
    };
    await until(async () => (await gateway.metric('sluice_pool_slots')) > 0);
    return gateway;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Does what the CLI does, which would be two more processes for each gateway. */
async function mintKey(environment: Readonly<Record<string, string>>): Promise<string> {
  const { SLUICE_REDIS_URL: url = '', SLUICE_KEY_SECRET: secret = '' } = environment;
  const redis = openRedis(url, { profile: 'worker', name: 'tests', onError: () => undefined });
  try {
    const directory = new Directory({ redis, secret });
    await directory.upsertTenant('tests');
    const { credential } = await directory.mint({ tenant: 'tests' });
    return credential;
  } finally {
    redis.disconnect();
  }
}

async function findBusiest(supervisors: readonly TestProcess[]): Promise<BusyWorker> {
  const all = await Promise.all(
    supervisors.flatMap((supervisor) =>
      servingIn(supervisor.lines).map(async ({ pid, opsPort }) => ({
        supervisor,
        pid,
        // A worker that has just died has no metrics.
        generations: await sumMetric([opsPort], 'sluice_slots_busy').catch(() => 0),
      })),
    ),
  );
  return all.reduce((most, each) => (each.generations > most.generations ? each : most));
}

async function sumMetric(
  opsPorts: readonly (number | undefined)[],
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const opsPort of opsPorts) {
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    for (const line of text.split('\n')) {
      if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue;
      if (wanted.every((pair) => line.includes(pair))) sum += Number(line.slice(line.lastIndexOf(' ')));
    }
  }
  return sum;
}
