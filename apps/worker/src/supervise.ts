import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  createLifecycle,
  createLogger,
  type Environment,
  opsPorts,
  ProcessPool,
  parseEnvironment,
  parseTraceSettings,
  stopMarginMs,
} from '@sluice/runtime';
import { createPublisher, openRedis, publishWorkerNews } from '@sluice/transport';
import { workerEnvironment } from './config.ts';

/**
 * Runs worker processes and does nothing else, so that it outlives them. It tells every ingress of a process that dies
 * within milliseconds, and starts the process again.
 */
export async function startSupervisor(environment: Environment): Promise<void> {
  const { values: config, warnings } = parseEnvironment(workerEnvironment, environment);
  const logger = createLogger({ name: 'worker-supervisor', level: config.SLUICE_LOG_LEVEL });
  // The processes read the same environment, so only the supervisor reports the warnings.
  for (const warning of [...warnings, ...parseTraceSettings(environment).warnings]) logger.warn(warning);
  const { SLUICE_OPS_HOST: host, SLUICE_OPS_PORT: first, SLUICE_PROCESSES: count } = config;
  const ports = opsPorts({ host, first, count });
  const drainLimitMs = config.SLUICE_DRAIN_LIMIT_MS;
  const lifecycle = createLifecycle({ logger, drainLimitMs: drainLimitMs + stopMarginMs });
  const redis = openRedis(config.SLUICE_REDIS_URL, {
    profile: 'worker',
    name: 'worker-supervisor',
    onError: (error) => logger.debug({ err: error }, 'redis connection error'),
  });
  lifecycle.onDrain('redis', async () => redis.disconnect());
  const publisher = createPublisher(redis);

  const processes = new ProcessPool({
    entry: fileURLToPath(new URL('./main.ts', import.meta.url)),
    environmentOf: (seat, restarts) => ({
      ...environment,
      SLUICE_WORKER_ID: `w${randomUUID().replaceAll('-', '').slice(0, 16)}`,
      // The supervisor has no /metrics, so each process continues the count of restarts in its seat.
      SLUICE_WORKER_RESTARTS: String(restarts),
      SLUICE_OPS_PORT: ports[seat],
    }),
    drainLimitMs,
    logger,
    onExit: ({ SLUICE_WORKER_ID: worker = '' }) => {
      publishWorkerNews(publisher, { type: 'exited', worker }).catch((error: Error) =>
        logger.warn({ err: error, worker }, 'could not tell that a worker ended'),
      );
    },
  });
  lifecycle.onDrain('processes', () => processes.stop());
  const ready = await Promise.all(Array.from({ length: config.SLUICE_PROCESSES }, () => processes.add()));
  lifecycle.announceReady({
    role: 'supervisor',
    pid: process.pid,
    workers: ready.map(({ pid, opsPort, pools }) => ({ pid, opsPort, pools })),
  });
}
