import { fileURLToPath } from 'node:url';
import {
  createLifecycle,
  createLogger,
  type Environment,
  opsPorts,
  ProcessPool,
  parseEnvironment,
} from '@sluice/runtime';
import { ingressEnvironment, processSeat } from './config.ts';

const closeLimitMs = 6_000;

/**
 * Runs several ingress processes on one port: the kernel spreads new connections over them, and each has a
 * reply channel of its own. A process that dies takes its own connections with it and is started again.
 */
export async function startSupervisor(environment: Environment): Promise<void> {
  const { values: config } = parseEnvironment(ingressEnvironment, environment);
  const logger = createLogger({ name: 'ingress-supervisor', level: config.SLUICE_LOG_LEVEL });
  const ports = opsPorts(config.SLUICE_OPS_PORT, config.SLUICE_PROCESSES, config.SLUICE_PORT);
  const drainLimitMs = config.SLUICE_DRAIN_LIMIT_MS;
  const lifecycle = createLifecycle({ logger, drainLimitMs: drainLimitMs + closeLimitMs });
  let port = config.SLUICE_PORT;
  const processes = new ProcessPool({
    entry: fileURLToPath(new URL('./main.ts', import.meta.url)),
    environmentOf: (seat) => ({
      ...environment,
      [processSeat]: String(seat),
      SLUICE_PORT: String(port),
      SLUICE_OPS_PORT: ports[seat],
    }),
    drainLimitMs,
    logger,
  });
  lifecycle.onDrain('processes', () => processes.stop());
  // The first one finds the port where the system may choose it; the others join it there.
  const first = await processes.add();
  port = first.port ?? port;
  const others = await Promise.all(
    Array.from({ length: config.SLUICE_PROCESSES - 1 }, () => processes.add()),
  );
  lifecycle.announceReady({
    role: 'supervisor',
    pid: process.pid,
    port,
    opsPort: first.opsPort,
    ingresses: [first, ...others].map(({ pid, opsPort }) => ({ pid, opsPort })),
  });
}
