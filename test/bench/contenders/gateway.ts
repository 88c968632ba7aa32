import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startOwnRedis, until } from '@sluice/testing';
import { repository } from '../../support/repository.ts';
import { openTemporaryFolder } from '../../support/temporary-folder.ts';
import type { Role } from '../machine/processes.ts';
import type { AnotherOptions, Contender } from './contender.ts';
import { models } from './models.ts';
import { startProgram } from './program.ts';

/** The only pool of a gateway under test. */
export const pool = 'bench';

/** All that `GatewayOptions.redis` can be. */
export const redisWays = ['socket', 'tcp'] as const;
export type RedisWay = (typeof redisWays)[number];

export interface GatewayOptions extends AnotherOptions {
  /** Address of the fake upstream. */
  upstream: string;
  /** Default: `gateway`. */
  name?: string;
  /** How its processes reach Redis. Default: by its Unix socket, as `npm start` has it. */
  redis?: RedisWay;
  /** Checkout from which it runs. Default: this one. */
  root?: string;
  /** Generations at once. Default: more than any load here. */
  slots?: number;
  /** How long a request may be expected to wait. Default: ten minutes, so that nothing is refused. */
  waitBudgetMs?: number;
  /** Models beside those of the scenarios. */
  models?: readonly string[];
  /** More environment for ingress and worker. */
  environment?: Readonly<Record<string, string>>;
}

export interface Gateway extends Contender {
  readonly redisUrl: string;
}

const run = promisify(execFile);
const manySlots = 40_000;
const hourMs = 3_600_000;
const keySecret = 'a secret of the benchmark, 32 bytes';
/** Two limits, as a tenant in production has: checked at every request, and never reached. */
const policies = ['request-rate=100000000/1m', 'token-rate=100000000000/1m'];

/**
 * Starts Redis, ingress and worker as in production: with a key, limits of its tenant, admission, usage, heartbeats and
 * resend. They log warnings, as under `npm start`.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { root = repository, processes = 1 } = options;
  const folder = openTemporaryFolder('gateway');
  const redis = await startOwnRedis({ socket: options.redis !== 'tcp' });
  const config = join(folder.path, 'sluice.json');
  await writeFile(config, JSON.stringify(settings(options)));
  const shared: Record<string, string> = {
    SLUICE_REDIS_URL: redis.url,
    SLUICE_KEY_SECRET: keySecret,
    SLUICE_CONFIG: config,
  };
  const environment: Record<string, string> = {
    ...shared,
    SLUICE_PORT: '0',
    SLUICE_OPS_PORT: '0',
    SLUICE_LOG_LEVEL: 'warn',
    SLUICE_DRAIN_LIMIT_MS: '500',
    SLUICE_PROCESSES: String(processes),
    ...options.environment,
  };
  const key = await mintKey(root, shared);
  const [ingress, worker] = await Promise.all([
    startProgram({ root, entry: 'apps/ingress/src/main.ts', environment }),
    startProgram({ root, entry: 'apps/worker/src/main.ts', environment }),
  ]);
  const url = `http://127.0.0.1:${ingress.ready.port}`;
  const roles: Role[] = [
    ...ingress.processes.map(({ pid, opsPort }) => ({ role: 'ingress', pid, opsPort })),
    ...worker.processes.map(({ pid, opsPort }) => ({ role: 'worker', pid, opsPort })),
    { role: 'redis', pid: redis.pid },
  ];
  await until(() => answers(url, key), { what: 'the first answer' });
  return {
    kind: 'gateway',
    name: options.name ?? 'gateway',
    url,
    key,
    redisUrl: redis.url,
    roles,
    startAnother: (another) => startGateway({ ...options, ...another }),
    async stop() {
      await ingress.stop();
      await worker.stop();
      await redis.stop();
      folder.remove();
    },
  };
}

function settings({ upstream, slots = manySlots, waitBudgetMs = 600_000, ...rest }: GatewayOptions): object {
  const backend = {
    engine: 'upstream',
    baseUrl: `${upstream}/v1`,
    slots,
    // Idle streams are silent on purpose and must not time out.
    firstEventTimeoutMs: hourMs,
    idleTimeoutMs: hourMs,
  };
  const names = [...Object.values(models), ...(rest.models ?? [])];
  return {
    pools: { [pool]: { backend, waitBudgetMs } },
    models: Object.fromEntries(names.map((name) => [name, { pool, requestTimeoutMs: hourMs }])),
  };
}

async function mintKey(root: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const cli = async (...words: string[]) => {
    const options = { cwd: root, env: { ...process.env, ...environment } };
    return (await run(process.execPath, [join(root, 'apps/cli/src/main.ts'), ...words], options)).stdout;
  };
  await cli('tenants', 'create', 'bench');
  await cli('limits', 'set', '--tenant', 'bench', ...policies);
  // What the CLI prints with --json is its documented output.
  const minted = JSON.parse(await cli('keys', 'mint', '--tenant', 'bench', '--json')) as {
    credential: string;
  };
  return minted.credential;
}

async function answers(url: string, key: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: models.one, messages: [{ role: 'user', content: 'hello' }] }),
  }).catch(() => undefined);
  await response?.text();
  return response?.ok === true;
}
