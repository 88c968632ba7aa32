import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  createLifecycle,
  createLogger,
  type Environment,
  type Logger,
  parseEnvironment,
} from '@sluice/runtime';
import { createBus, openRedis, publishNews, type RedisClient } from '@sluice/transport';
import { z } from 'zod';
import { type WorkerConfig, workerEnvironment } from './config.ts';

const firstRestartMs = 100;
const lastRestartMs = 5_000;
/** A process that lived this long has earned a restart without delay. */
const healthyAfterMs = 10_000;
/** Beyond a process's own drain limit. */
const killAfterMs = 5_000;

const readyMessage = z.looseObject({ type: z.literal('ready'), pid: z.number(), opsPort: z.number() });
type Ready = z.output<typeof readyMessage>;

/**
 * Runs worker processes and does nothing else, so that it outlives them: a death is told to every ingress
 * within milliseconds, and the process is started again.
 */
export async function startSupervisor(environment: Environment): Promise<void> {
  const { values: config } = parseEnvironment(workerEnvironment, environment);
  const logger = createLogger({ name: 'worker-supervisor', level: config.SLUICE_LOG_LEVEL });
  const lifecycle = createLifecycle({ logger, drainLimitMs: config.SLUICE_DRAIN_LIMIT_MS + killAfterMs });
  const redis = openRedis(config.SLUICE_REDIS_URL, {
    profile: 'worker',
    name: 'worker-supervisor',
    onError: (error) => logger.debug({ err: error }, 'redis connection error'),
  });
  lifecycle.onDrain('redis', async () => redis.disconnect());
  const seats = Array.from(
    { length: config.SLUICE_PROCESSES },
    (_, index) => new Seat(index, { config, environment, logger, redis }),
  );
  lifecycle.onDrain('processes', async () => {
    await Promise.all(seats.map((seat) => seat.stop()));
  });
  const ready = await Promise.all(seats.map((seat) => seat.start()));
  lifecycle.announceReady({
    role: 'supervisor',
    pid: process.pid,
    workers: ready.map(({ pid, opsPort }) => ({ pid, opsPort })),
  });
}

interface SeatServices {
  config: WorkerConfig;
  environment: Environment;
  logger: Logger;
  redis: RedisClient;
}

/** A place for one worker process: the one that sits there, and its successors. */
class Seat {
  private child: ChildProcess | undefined;
  private isStopping = false;
  private failures = 0;
  private restart: NodeJS.Timeout | undefined;
  private readonly index: number;
  private readonly services: SeatServices;

  constructor(index: number, services: SeatServices) {
    this.index = index;
    this.services = services;
  }

  /** Resolves when the first process serves. If it ends before, so does the supervisor: a restart won't mend a mistake. */
  start(): Promise<Ready> {
    return new Promise((resolve) => {
      let isServing = false;
      const child = this.spawn((code, signal) => {
        if (isServing) this.ended(child, code, signal);
        // It has said why on the same standard error.
        else process.exit(1);
      });
      child.on('message', (message) => {
        const ready = readyMessage.safeParse(message);
        if (!ready.success) return;
        isServing = true;
        resolve(ready.data);
      });
    });
  }

  /** Lets the process drain, then ends it. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.restart);
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(
        () => child.kill('SIGKILL'),
        this.services.config.SLUICE_DRAIN_LIMIT_MS + killAfterMs,
      );
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      child.kill('SIGTERM');
    });
  }

  private spawn(onExit: (code: number | null, signal: NodeJS.Signals | null) => void): ChildProcess {
    const { config, environment } = this.services;
    const worker = `w${randomUUID().replaceAll('-', '').slice(0, 16)}`;
    const opsPort = config.SLUICE_OPS_PORT === 0 ? 0 : config.SLUICE_OPS_PORT + this.index;
    const child = fork(fileURLToPath(new URL('./main.ts', import.meta.url)), {
      env: { ...environment, SLUICE_WORKER_ID: worker, SLUICE_OPS_PORT: String(opsPort) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    child.once('exit', (code, signal) => {
      this.tellEveryone(worker);
      onExit(code, signal);
    });
    return child;
  }

  private ended(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.isStopping) return;
    const delayMs = this.failures === 0 ? 0 : Math.min(lastRestartMs, firstRestartMs * 2 ** this.failures);
    this.failures += 1;
    this.services.logger.error(
      { pid: child.pid, code, signal, restartInMs: delayMs },
      'worker process ended',
    );
    this.restart = setTimeout(() => {
      const forgive = setTimeout(() => {
        this.failures = 0;
      }, healthyAfterMs);
      const next = this.spawn((nextCode, nextSignal) => {
        clearTimeout(forgive);
        this.ended(next, nextCode, nextSignal);
      });
    }, delayMs);
  }

  private tellEveryone(worker: string): void {
    const { redis, logger } = this.services;
    // A supervisor only speaks: its bus never subscribes.
    publishNews(
      createBus(redis, redis, () => undefined),
      { type: 'exited', worker },
    ).catch((error: Error) => logger.warn({ err: error, worker }, 'could not tell that a worker ended'));
  }
}
