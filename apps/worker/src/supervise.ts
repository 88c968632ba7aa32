import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  createLifecycle,
  createLogger,
  type Environment,
  opsPorts,
  ProcessPool,
  parseEnvironment,
} from '@sluice/runtime';
import { createBus, openRedis, publishNews } from '@sluice/transport';
import { workerEnvironment } from './config.ts';

/** What the pool's processes and their own drain limits may need beyond ours. */
const closeLimitMs = 6_000;

/**
 * Runs worker processes and does nothing else, so that it outlives them: a death is told to every ingress
 * within milliseconds, and the process is started again.
 */
export async function startSupervisor(environment: Environment): Promise<void> {
  const { values: config, warnings } = parseEnvironment(workerEnvironment, environment);
  const logger = createLogger({ name: 'worker-supervisor', level: config.SLUICE_LOG_LEVEL });
  // Once, here: each process under it reads the same.
  for (const warning of warnings) logger.warn(warning);
  const ports = opsPorts(config.SLUICE_OPS_PORT, config.SLUICE_PROCESSES);
  const drainLimitMs = config.SLUICE_DRAIN_LIMIT_MS;
  const lifecycle = createLifecycle({ logger, drainLimitMs: drainLimitMs + closeLimitMs });
  const redis = openRedis(config.SLUICE_REDIS_URL, {
    profile: 'worker',
    name: 'worker-supervisor',
    onError: (error) => logger.debug({ err: error }, 'redis connection error'),
  });
  lifecycle.onDrain('redis', async () => redis.disconnect());
  // A supervisor only speaks: its bus never subscribes.
  const bus = createBus(redis, redis, () => undefined);

  const processes = new ProcessPool({
    entry: fileURLToPath(new URL('./main.ts', import.meta.url)),
    environmentOf: (seat, restarts) => ({
      ...environment,
      SLUICE_WORKER_ID: `w${randomUUID().replaceAll('-', '').slice(0, 16)}`,
      // Only the processes have a /metrics: each goes on counting where the one before it in its seat stopped.
      SLUICE_WORKER_RESTARTS: String(restarts),
      SLUICE_OPS_PORT: ports[seat],
    }),
    drainLimitMs,
    logger,
    onExit: ({ SLUICE_WORKER_ID: worker = '' }) => {
      publishNews(bus, { type: 'exited', worker }).catch((error: Error) =>
        logger.warn({ err: error, worker }, 'could not tell that a worker ended'),
      );
    },
  });
  lifecycle.onDrain('processes', () => processes.stop());
  const ready = await Promise.all(Array.from({ length: config.SLUICE_PROCESSES }, () => processes.add()));
  lifecycle.announceReady({
    role: 'supervisor',
    pid: process.pid,
    workers: ready.map(({ pid, opsPort }) => ({ pid, opsPort })),
  });
}
