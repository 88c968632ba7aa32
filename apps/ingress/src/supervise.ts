import { fileURLToPath } from 'node:url';
import {
  createLifecycle,
  createLogger,
  type Environment,
  opsPorts,
  ProcessPool,
  parseEnvironment,
  stopMarginMs,
} from '@sluice/runtime';
import { ingressEnvironment, portsOf, processSeat } from './config.ts';

/**
 * Runs several ingress processes on one port. The kernel spreads new connections over them, and each has a reply
 * channel of its own. A process that dies loses only its own connections, and is started again.
 */
export async function startSupervisor(environment: Environment): Promise<void> {
  const { values: config } = parseEnvironment(ingressEnvironment, environment);
  const logger = createLogger({ name: 'ingress-supervisor', level: config.SLUICE_LOG_LEVEL });
  const { operations, api } = portsOf(config);
  const ports = opsPorts(operations, api);
  const drainLimitMs = config.SLUICE_DRAIN_LIMIT_MS;
  const lifecycle = createLifecycle({ logger, drainLimitMs: drainLimitMs + stopMarginMs });
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
  // With port 0 the system chooses the port for the first process; the others then share it.
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
