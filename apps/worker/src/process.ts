import type { Pool } from '@sluice/catalog';
import type { Backend, Engine } from '@sluice/engines';
import {
  createLifecycle,
  createLogger,
  createWorkerMetrics,
  type Environment,
  heapLimitBytes,
  type Lifecycle,
  type Logger,
  maskSecrets,
  openFilesLimit,
  openOpsServer,
  openTracing,
  productVersion,
  renderMetrics,
  secretNamesOf,
  systemClock,
  Turns,
  type WorkerMetrics,
} from '@sluice/runtime';
import {
  type Bus,
  createPublisher,
  createReplyPublisher,
  isIngressAlive,
  JobRoom,
  type Links,
  type Order,
  openLinks,
  printableAddress,
  type ReplyPublisher,
  subscribeIngressNews,
  subscribeOrders,
} from '@sluice/transport';
import { type WorkerConfig, workerEnvironment } from './config.ts';
import { drainGenerations } from './drain.ts';
import { lacksFiles } from './open-files.ts';
import { PoolWorker } from './pool-worker.ts';
import { Presence } from './presence.ts';
import { loadSettings } from './settings.ts';
import { startPools } from './start-pools.ts';

/**
 * The share of the heap for the jobs that run. A prompt is there up to three times: as it came, as it was parsed, and as
 * it is sent; and the last job that is claimed may be as large as a body may be.
 */
const promptShare = 1 / 5;
/**
 * The share of the heap for the files that are fetched by URL. A file is there up to four times: as it came, in base64,
 * in the body, and as that is written.
 */
const fileShare = 1 / 5;
/** The share of the heap for frames that are kept until they are acknowledged, as those for slow readers are. */
const keptShare = 1 / 5;
const bytesPerCharacter = 2;

/**
 * Starts the worker process with this id: first its presence, then the engine of each pool and its jobs. The error that
 * it throws, also if no engine starts, is written for the operator.
 */
export async function startProcess(worker: string, environment: Environment): Promise<void> {
  const { config, catalog, backends, traces } = await loadSettings(environment);
  const logger = createLogger({ name: 'worker', level: config.SLUICE_LOG_LEVEL }).child({ worker });
  const shown = maskSecrets(config, secretNamesOf(workerEnvironment));
  logger.info({ version: productVersion(), config: shown, overridden: catalog.overridden }, 'starting');
  const lifecycle = createLifecycle({ logger, drainLimitMs: config.SLUICE_DRAIN_LIMIT_MS });
  const metrics = createWorkerMetrics();
  metrics.buildInfo.set({ version: productVersion() }, 1);
  metrics.workerRestarts.inc(config.SLUICE_WORKER_RESTARTS);
  const tracing = await openTracing(traces, { service: 'sluice-worker', instance: worker, logger });
  lifecycle.onDrain('traces', async () => tracing?.close());
  const parts: WorkerProcess = { config, worker, logger, lifecycle, metrics };
  const links = await connect(parts);
  const { commands: redis, bus } = links;
  const publisher = openPublisher(links, parts);
  const room = openJobRoom(parts);
  const fileRoom = new Turns(heapLimitBytes() * fileShare);
  metrics.jobBytes.readFrom(() => room.takenBytes + fileRoom.taken);
  const shared = { catalog, redis, room, worker, publisher, metrics, logger, tracing, clock: systemClock };
  const engines = await Promise.all(
    backends.map(async ({ pool, backend }) => ({
      pool,
      engine: await createEngine(pool, backend, fileRoom, parts),
    })),
  );
  warnOfFewFiles(engines, parts);
  const pools = engines.map(({ pool, engine }) => new PoolWorker({ pool, engine, ...shared }));
  // Comes before the first sign of life: who can't open its port is not missed by ingresses.
  const ops = await openOpsServer({
    host: config.SLUICE_OPS_HOST,
    port: config.SLUICE_OPS_PORT,
    isReady: () => {
      const reasons = pools
        .filter((pool) => !pool.isReady)
        .map((pool) => `the engine of pool ${pool.name} is not ready`);
      if (lifecycle.draining.aborted) reasons.push('draining');
      if (!links.isUp() || !bus.isUp()) reasons.push('redis does not serve');
      return { ready: reasons.length === 0, reasons };
    },
    metrics: () => renderMetrics(metrics.registry),
  });
  lifecycle.onDrain('operations', () => ops.close());
  const signs = createPublisher(redis);
  const presence = new Presence({ bus, signs, worker, pools, clock: systemClock });
  await listenToIngresses(bus, worker, { pools, publisher, presence });
  await presence.start();
  lifecycle.onDrain('generations', (limit) =>
    drainGenerations({ pools, publisher, presence, clock: systemClock }, limit),
  );
  await startPools(pools, {
    logger,
    clock: systemClock,
    signal: lifecycle.draining,
    onStarted: () => presence.announceChange(),
  });
  if (lifecycle.draining.aborted) return;
  const serving = pools.filter((pool) => pool.presence.slots > 0).map((pool) => pool.name);
  const redisAddress = printableAddress(config.SLUICE_REDIS_URL);
  logger.info({ pools: serving, opsPort: ops.port, redis: redisAddress }, 'serving');
  lifecycle.announceReady({ role: 'worker', pid: process.pid, opsPort: ops.port, pools: serving });
}

/** What every part of the process is opened with. */
interface WorkerProcess {
  config: WorkerConfig;
  /** Id of this process. */
  worker: string;
  logger: Logger;
  lifecycle: Lifecycle;
  metrics: WorkerMetrics;
}

async function connect({ config, worker, logger, lifecycle, metrics }: WorkerProcess): Promise<Links> {
  const links = await openLinks(config.SLUICE_REDIS_URL, {
    profile: 'worker',
    name: worker,
    onConnectionError: (error) => logger.warn({ err: error }, 'redis connection error'),
    onConnectionRecovery: () => logger.info('redis connection is back'),
    onRoundTrip: (durationMs) => metrics.redisRoundTrip.observe(durationMs),
    onBadMessage: (error) => logger.error({ err: error }, 'bad message'),
  });
  lifecycle.onDrain('redis', async () => links.close());
  metrics.redisUp.readFrom(() => (links.isUp() && links.bus.isUp() ? 1 : 0));
  return links;
}

function openPublisher(
  { bus, commands }: Links,
  { worker, logger, lifecycle, metrics }: WorkerProcess,
): ReplyPublisher {
  const publisher = createReplyPublisher({
    bus,
    worker,
    now: () => systemClock.monotonic(),
    isIngressAlive: (ingress) => isIngressAlive(commands, ingress),
    onPublished: ({ frames, bytes }) => {
      metrics.publishedBatches.inc();
      metrics.publishedFrames.inc(frames);
      metrics.publishedBytes.inc(bytes);
    },
    onAbandoned: (count) => metrics.abandoned.inc(count),
    keptLimit: (heapLimitBytes() * keptShare) / bytesPerCharacter,
    onKeptDropped: (attempts) => {
      logger.warn(
        { attempts },
        'frames that are kept for slow readers fill the memory of this worker; those of the oldest answers were dropped',
      );
    },
  });
  metrics.keptFrameCharacters.readFrom(() => publisher.keptCharacters);
  publisher.start();
  lifecycle.onDrain('replies', () => publisher.close());
  return publisher;
}

function openJobRoom({ logger }: WorkerProcess): JobRoom {
  const roomBytes = heapLimitBytes() * promptShare;
  const room = new JobRoom(roomBytes, () => {
    logger.warn(
      { roomBytes },
      'prompts fill the memory of this worker, which takes no job until one ends; a larger heap holds more',
    );
  });
  return room;
}

function createEngine(
  pool: Pool,
  backend: Backend,
  fileRoom: Turns,
  { logger, metrics }: WorkerProcess,
): Promise<Engine> {
  return backend.createEngine({
    now: () => systemClock.now(),
    onExtensionsDropped: (from, to) => metrics.extensionsDropped.inc({ from, to }),
    fileRoom,
    onMediaFetched: (outcome, durationMs) => {
      metrics.mediaFetches.inc({ outcome });
      metrics.mediaFetchDuration.observe(durationMs);
    },
    onReadiness: (isReady, why) => {
      if (isReady) logger.info({ pool: pool.name }, 'the engine is back');
      else logger.warn({ pool: pool.name, why }, 'the engine is not ready');
    },
  });
}

function warnOfFewFiles(engines: readonly { engine: Engine }[], { logger }: WorkerProcess): void {
  const openFiles = openFilesLimit();
  if (!lacksFiles(engines, openFiles)) return;
  logger.warn(
    { openFiles },
    'more slots than this process may open connections for: raise the limit of open files (ulimit -n), or lower the slots',
  );
}

interface Listeners {
  pools: readonly PoolWorker[];
  publisher: ReplyPublisher;
  presence: Presence;
}

/** Subscribes to orders and to the hellos of starting ingresses. Resolves once they can arrive. */
async function listenToIngresses(
  bus: Bus,
  worker: string,
  { pools, publisher, presence }: Listeners,
): Promise<void> {
  const obey = (order: Order, ingress: string): void => {
    if (order.kind === 'resend') publisher.resend(order, order.sequence, ingress);
    else if (order.kind === 'acknowledge') publisher.acknowledge(order, order.sequence);
    else if (!pools.some((pool) => pool.receive(order))) publisher.forget(order);
  };
  await subscribeOrders(bus, worker, (order, ingress) => {
    // A claim tells the ingress before its jobs are here, and over a slow link a large prompt takes seconds.
    const isOnItsWay = order.kind !== 'acknowledge' && !publisher.has(order);
    if (!isOnItsWay) obey(order, ingress);
    else void Promise.all(pools.map((pool) => pool.claimed())).then(() => obey(order, ingress));
  });
  await subscribeIngressNews(bus, ({ type, ingress }) => {
    if (type === 'farewell') return publisher.abandon(ingress);
    void presence.announce();
    publisher.tell(ingress);
  });
  bus.onResubscribed(() => {
    void presence.announce();
    publisher.tell();
  });
}
