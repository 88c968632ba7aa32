import { SluiceError } from '@sluice/canonical';
import { type Catalog, loadCatalog, type Pool } from '@sluice/catalog';
import { type Backend, parseBackend } from '@sluice/engines';
import {
  ConfigError,
  createLifecycle,
  createLogger,
  createWorkerMetrics,
  type Environment,
  maskText,
  openOpsServer,
  type Problem,
  parseEnvironment,
  renderMetrics,
  systemClock,
} from '@sluice/runtime';
import {
  checkRedis,
  connected,
  createBus,
  createReplyPublisher,
  isIngressAlive,
  openRedis,
  presenceIntervalMs,
  publishNews,
  subscribeHello,
  subscribeOrders,
} from '@sluice/transport';
import { workerEnvironment } from './config.ts';
import { PoolWorker } from './pool-worker.ts';

const connectLimitMs = 5_000;
/** After a hand-over: what was still pending must reach Redis. */
const handOverMs = 250;
/** How long a drain waits until Redis has taken a piece of news. */
const newsLimitMs = 500;

/** Brings one worker process up: engines, then presence, then jobs. Throws a sentence for the operator. */
export async function startProcess(environment: Environment): Promise<void> {
  const { values: config } = parseEnvironment(workerEnvironment, environment);
  const worker = config.SLUICE_WORKER_ID ?? 'w0';
  const catalog = await loadCatalog(config.SLUICE_CONFIG, environment, (backend, path, pool) =>
    config.SLUICE_POOLS?.includes(pool) === false ? [] : parseBackend(backend, path, environment).problems,
  );
  const backends = parseBackends(catalog, config.SLUICE_POOLS, environment);
  const logger = createLogger({ name: 'worker', level: config.SLUICE_LOG_LEVEL }).child({ worker });
  const lifecycle = createLifecycle({ logger, drainLimitMs: config.SLUICE_DRAIN_LIMIT_MS });
  const metrics = createWorkerMetrics();
  const clock = systemClock;

  const onError = (error: Error) => logger.warn({ err: error }, 'redis connection error');
  const redis = openRedis(config.SLUICE_REDIS_URL, { profile: 'worker', name: worker, onError });
  const subscriber = openRedis(config.SLUICE_REDIS_URL, {
    profile: 'subscriber',
    name: `${worker}-subscriber`,
    onError,
  });
  try {
    const limit = AbortSignal.timeout(connectLimitMs);
    await Promise.all([connected(redis, limit), connected(subscriber, limit)]);
    await checkRedis(redis);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new SluiceError('unavailable', `${error.message} (${maskText(config.SLUICE_REDIS_URL)})`, {
      cause: error,
    });
  }
  lifecycle.onDrain('redis', async () => {
    redis.disconnect();
    subscriber.disconnect();
  });
  metrics.redisUp.readFrom(() => (redis.status === 'ready' ? 1 : 0));

  const bus = createBus(redis, subscriber, (error) => logger.error({ err: error }, 'bad message'));
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
      });
      await engine.start(lifecycle.draining);
      return new PoolWorker({ pool, engine, catalog, redis, publisher, metrics, logger, clock });
    }),
  );

  let state: 'ready' | 'closing' | 'draining' = 'ready';
  const announce = () =>
    publishNews(bus, {
      type: 'presence',
      worker,
      state: state === 'draining' ? 'draining' : 'ready',
      // A worker that takes no further jobs offers no slots, but still speaks for what it runs.
      pools: state === 'ready' ? Object.fromEntries(pools.map((pool) => [pool.name, pool.presence])) : {},
    }).catch(() => 0);
  await subscribeOrders(bus, worker, (order, ingress) => {
    if (order.kind === 'resend') publisher.resend(order, order.sequence, ingress);
    else if (order.kind === 'acknowledge') publisher.acknowledge(order, order.sequence);
    else if (!pools.some((pool) => pool.receive(order))) publisher.forget(order);
  });
  await subscribeHello(bus, (ingress) => {
    void announce();
    publisher.tell(ingress);
  });
  bus.onResubscribed(() => {
    void announce();
    publisher.tell();
  });
  const presence = setInterval(() => void announce(), presenceIntervalMs);
  await announce();

  const isReady = () => {
    const reasons = pools
      .filter((pool) => !pool.isReady)
      .map((pool) => `the engine of pool ${pool.name} is not ready`);
    if (lifecycle.draining.aborted) reasons.push('draining');
    if (redis.status !== 'ready' || !bus.isUp()) reasons.push('redis does not answer');
    return { ready: reasons.length === 0, reasons };
  };
  const ops = await openOpsServer({
    host: config.SLUICE_OPS_HOST,
    port: config.SLUICE_OPS_PORT,
    isReady,
    metrics: () => renderMetrics(metrics.registry),
  });
  // Without Redis nobody hears it, and the end of the process must not wait for that.
  const tell = async (publish: () => Promise<number>): Promise<void> => {
    if (bus.canPublish()) await Promise.race([publish().catch(() => 0), clock.sleep(newsLimitMs)]);
  };
  lifecycle.onDrain('operations', () => ops.close());
  lifecycle.onDrain('generations', async (limit) => {
    state = 'closing';
    await tell(announce);
    await Promise.all(pools.map((pool) => pool.drain(limit)));
    // The last words of what has ended go before the news, at which an ingress takes away what can go on elsewhere.
    await publisher.flush();
    // What is left goes on elsewhere where it can; for the rest the ingress hears an error of ours.
    state = 'draining';
    await tell(announce);
    await clock.sleep(handOverMs);
    await Promise.all(pools.map((pool) => pool.stop('drained')));
    clearInterval(presence);
    await publisher.flush();
    await tell(() => publishNews(bus, { type: 'exited', worker }));
  });
  for (const pool of pools) pool.start();
  logger.info({ pools: pools.map((pool) => pool.name), opsPort: ops.port }, 'serving');
  lifecycle.announceReady({ role: 'worker', pid: process.pid, opsPort: ops.port });
}

/** The backends of the pools that this worker serves. Throws `ConfigError` with every mistake in all of them. */
function parseBackends(
  catalog: Catalog,
  wanted: readonly string[] | undefined,
  environment: Environment,
): { pool: Pool; backend: Backend }[] {
  const problems: Problem[] = [];
  const result: { pool: Pool; backend: Backend }[] = [];
  for (const name of wanted ?? catalog.pools.keys()) {
    const pool = catalog.pools.get(name);
    if (!pool) {
      problems.push({ path: 'SLUICE_POOLS', message: `there is no pool ${name}` });
      continue;
    }
    const parsed = parseBackend(pool.backend, `pools.${name}.backend`, environment);
    problems.push(...parsed.problems);
    if (parsed.backend) result.push({ pool, backend: parsed.backend });
  }
  if (problems.length > 0) throw new ConfigError('catalog', problems);
  return result;
}
