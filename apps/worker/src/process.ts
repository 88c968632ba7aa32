import {
  createLifecycle,
  createLogger,
  createWorkerMetrics,
  type Environment,
  maskSecrets,
  openOpsServer,
  parseEnvironment,
  productVersion,
  renderMetrics,
  secretNamesOf,
  systemClock,
} from '@sluice/runtime';
import {
  createReplyPublisher,
  isIngressAlive,
  openLinks,
  printableAddress,
  subscribeHello,
  subscribeOrders,
} from '@sluice/transport';
import { loadBackends } from './backends.ts';
import { workerEnvironment } from './config.ts';
import { drainGenerations } from './drain.ts';
import { PoolWorker } from './pool-worker.ts';
import { Presence } from './presence.ts';
import { startPools } from './start-pools.ts';

/**
 * Brings one worker process up: presence, then each pool's engine and its jobs. Throws a sentence for the operator,
 * also when no engine starts.
 */
export async function startProcess(environment: Environment): Promise<void> {
  const { values: config } = parseEnvironment(workerEnvironment, environment);
  const worker = config.SLUICE_WORKER_ID ?? 'w0';
  const { catalog, backends } = await loadBackends(config, environment);
  const logger = createLogger({ name: 'worker', level: config.SLUICE_LOG_LEVEL }).child({ worker });
  const shown = maskSecrets(config, secretNamesOf(workerEnvironment));
  logger.info({ version: productVersion(), config: shown, overridden: catalog.overridden }, 'starting');
  const lifecycle = createLifecycle({ logger, drainLimitMs: config.SLUICE_DRAIN_LIMIT_MS });
  const metrics = createWorkerMetrics();
  metrics.buildInfo.set({ version: productVersion() }, 1);
  metrics.workerRestarts.inc(config.SLUICE_WORKER_RESTARTS);
  const clock = systemClock;

  const links = await openLinks(config.SLUICE_REDIS_URL, {
    profile: 'worker',
    name: worker,
    onConnectionError: (error) => logger.warn({ err: error }, 'redis connection error'),
    onConnectionRecovery: () => logger.info('redis connection is back'),
    onRoundTrip: (durationMs) => metrics.redisRoundTrip.observe(durationMs),
    onBadMessage: (error) => logger.error({ err: error }, 'bad message'),
  });
  const { commands: redis, bus } = links;
  lifecycle.onDrain('redis', async () => links.close());
  metrics.redisUp.readFrom(() => (links.isUp() ? 1 : 0));

  const publisher = createReplyPublisher({
    bus,
    worker,
    now: () => clock.monotonic(),
    isIngressAlive: (ingress) => isIngressAlive(redis, ingress),
    onPublished: ({ frames, bytes }) => {
      metrics.publishedBatches.inc();
      metrics.publishedFrames.inc(frames);
      metrics.publishedBytes.inc(bytes);
    },
    onAbandoned: (count) => metrics.abandoned.inc(count),
  });
  metrics.keptFrameBytes.readFrom(() => publisher.keptBytes);
  publisher.start();
  lifecycle.onDrain('replies', () => publisher.close());

  const pools = await Promise.all(
    backends.map(async ({ pool, backend }) => {
      const engine = await backend.createEngine({
        now: () => clock.now(),
        onExtensionsDropped: (from, to) => metrics.extensionsDropped.inc({ from, to }),
        onMediaFetched: (outcome, durationMs) => {
          metrics.mediaFetches.inc({ outcome });
          metrics.mediaFetchDuration.observe(durationMs);
        },
        onReadiness: (isReady, why) => {
          if (isReady) logger.info({ pool: pool.name }, 'the engine is back');
          else logger.warn({ pool: pool.name, why }, 'the engine is not ready');
        },
      });
      return new PoolWorker({ pool, engine, catalog, redis, publisher, metrics, logger, clock });
    }),
  );

  const presence = new Presence({ bus, worker, pools, clock });
  await subscribeOrders(bus, worker, (order, ingress) => {
    if (order.kind === 'resend') publisher.resend(order, order.sequence, ingress);
    else if (order.kind === 'acknowledge') publisher.acknowledge(order, order.sequence);
    else if (!pools.some((pool) => pool.receive(order))) publisher.forget(order);
  });
  await subscribeHello(bus, (ingress) => {
    void presence.announce();
    publisher.tell(ingress);
  });
  bus.onResubscribed(() => {
    void presence.announce();
    publisher.tell();
  });
  await presence.start();

  const isReady = () => {
    const reasons = pools
      .filter((pool) => !pool.isReady)
      .map((pool) => `the engine of pool ${pool.name} is not ready`);
    if (lifecycle.draining.aborted) reasons.push('draining');
    if (!links.isUp() || !bus.isUp()) reasons.push('redis does not answer');
    return { ready: reasons.length === 0, reasons };
  };
  const ops = await openOpsServer({
    host: config.SLUICE_OPS_HOST,
    port: config.SLUICE_OPS_PORT,
    isReady,
    metrics: () => renderMetrics(metrics.registry),
  });
  lifecycle.onDrain('operations', () => ops.close());
  lifecycle.onDrain('generations', (limit) => drainGenerations({ pools, publisher, presence, clock }, limit));
  await startPools(pools, {
    logger,
    clock,
    signal: lifecycle.draining,
    onStarted: () => presence.announce(),
  });
  if (lifecycle.draining.aborted) return;
  const serving = pools.filter((pool) => pool.presence.slots > 0).map((pool) => pool.name);
  const redisAddress = printableAddress(config.SLUICE_REDIS_URL);
  logger.info({ pools: serving, opsPort: ops.port, redis: redisAddress }, 'serving');
  lifecycle.announceReady({ role: 'worker', pid: process.pid, opsPort: ops.port });
}
