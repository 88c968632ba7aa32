import { randomUUID } from 'node:crypto';
import { type Admission, createAdmission, MemoryGate } from '@sluice/admission';
import {
  createLifecycle,
  createLogger,
  type Environment,
  heapLimitBytes,
  type IngressMetrics,
  type Lifecycle,
  type Logger,
  listenFailure,
  maskSecrets,
  openFilesLimit,
  openOpsServer,
  openTracing,
  productVersion,
  renderMetrics,
  secretNamesOf,
  steadyNow,
  systemClock,
} from '@sluice/runtime';
import { createKeyStore, type KeyStore } from '@sluice/tenancy';
import { type Links, openLinks, printableAddress, repliesReach } from '@sluice/transport';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.ts';
import { type IngressConfig, ingressEnvironment } from './config.ts';
import { openDelivery } from './dispatch/delivery.ts';
import { limitConnections } from './guards/connection-limit.ts';
import { watchKeys } from './guards/key-watch.ts';
import { watchOverload } from './guards/overload.ts';
import { PromptPassage } from './guards/prompt-passage.ts';
import { PromptRoom } from './guards/prompt-room.ts';
import { measurePools, openMetrics } from './process-metrics.ts';
import { createRequestIds } from './request-ids.ts';
import type { Services } from './services.ts';
import { loadSettings } from './settings.ts';
import { createTicker } from './ticker.ts';

/** By how much a keep-alive may be late. */
const tickStepMs = 50;
const monotonic = () => performance.now();

/**
 * Starts an ingress process, each part after those that it needs. The error that it throws is written for the operator.
 */
export async function startIngress(environment: Environment): Promise<void> {
  const { config, catalog, traces, warnings } = await loadSettings(environment);
  const ingress = `i${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const logger = createLogger({ name: 'ingress', level: config.SLUICE_LOG_LEVEL }).child({ ingress });
  // All processes of a port read the same settings, so only the first of them, of seat 0, reports the warnings.
  if (!config.SLUICE_PROCESS_SEAT) for (const warning of warnings) logger.warn(warning);
  const shown = maskSecrets(config, secretNamesOf(ingressEnvironment));
  logger.info({ version: productVersion(), config: shown, overridden: catalog.overridden }, 'starting');

  const lifecycle = createLifecycle({ logger, drainLimitMs: config.SLUICE_DRAIN_LIMIT_MS });
  const metrics = openMetrics(catalog);
  const tracing = await openTracing(traces, { service: 'sluice-ingress', instance: ingress, logger });
  lifecycle.onDrain('traces', async () => tracing?.close());
  const parts: IngressProcess = { config, ingress, logger, lifecycle, metrics };
  const links = await connect(parts);
  const keys = await openKeys(links, parts);
  const admission = await openAdmission(links, parts);
  const overload = watchOverload(config.SLUICE_LOOP_DELAY_LIMIT_MS, monotonic);
  lifecycle.onDrain('overload', async () => overload.close());
  const { queue, directory, dispatcher } = await openDelivery(links, parts);
  const stopMeasuring = measurePools(metrics, catalog, {
    slotsOf: (pool) => directory.slotsOf(pool),
    depth: queue.depth,
  });
  lifecycle.onDrain('pool metrics', async () => stopMeasuring());
  const ticker = createTicker(tickStepMs, monotonic);
  lifecycle.onDrain('keep-alives', async () => ticker.close());

  await serve(parts, {
    keys,
    catalog,
    admission,
    overload,
    promptRoom: new PromptRoom(heapLimitBytes()),
    promptPassage: new PromptPassage(heapLimitBytes()),
    queue,
    directory,
    dispatcher,
    ticker,
    metrics,
    logger,
    tracing,
    ingress,
    keepAliveMs: config.SLUICE_KEEP_ALIVE_MS,
    requestTimeoutMs: config.SLUICE_REQUEST_TIMEOUT_MS,
    stallLimitMs: config.SLUICE_STALL_LIMIT_MS,
    bodyLimitBytes: config.SLUICE_BODY_LIMIT_BYTES,
    now: () => systemClock.now(),
    steadyNow,
    monotonic,
    newRequestId: createRequestIds(),
    isReady: () => {
      const reasons: string[] = [];
      if (lifecycle.draining.aborted) reasons.push('draining');
      if (!links.isUp()) reasons.push('redis does not serve');
      if (!repliesReach(links, ingress)) reasons.push('the reply subscription is down');
      return { ready: reasons.length === 0, reasons };
    },
  });
}

/** What every part of the process is opened with. */
interface IngressProcess {
  config: IngressConfig;
  /** Id of this process. */
  ingress: string;
  logger: Logger;
  lifecycle: Lifecycle;
  metrics: IngressMetrics;
}

async function connect({ config, ingress, logger, lifecycle, metrics }: IngressProcess): Promise<Links> {
  const links = await openLinks(config.SLUICE_REDIS_URL, {
    profile: 'command',
    name: `ingress-${ingress}`,
    onConnectionError: (error) => logger.warn({ err: error }, 'redis connection error'),
    onConnectionRecovery: () => logger.info('redis connection is back'),
    onRoundTrip: (durationMs) => metrics.redisRoundTrip.observe(durationMs),
    onBadMessage: (error) => logger.error({ err: error }, 'bad message'),
  });
  lifecycle.onDrain('redis', async () => links.close());
  metrics.redisUp.readFrom(() => (links.isUp() && links.bus.isReached() ? 1 : 0));
  return links;
}

async function openKeys(
  links: Links,
  { config, logger, lifecycle, metrics }: IngressProcess,
): Promise<KeyStore> {
  const keys = createKeyStore({
    redis: links.commands,
    subscriber: links.broadcasts(),
    secret: config.SLUICE_KEY_SECRET,
  });
  await keys.start();
  const { directory } = keys;
  const first = await links.patiently(() => directory.keysKnown());
  const watch = watchKeys(first, { directory, logger, clock: systemClock });
  metrics.keysKnown.readFrom(() => (watch.areOurs() ? 1 : 0));
  lifecycle.onDrain('keys', async () => {
    await watch.close();
    await keys.close();
  });
  return keys;
}

async function openAdmission(
  { commands: redis }: Links,
  { lifecycle, logger, metrics }: IngressProcess,
): Promise<Admission> {
  const memoryGate = new MemoryGate({
    redis,
    onEviction: (policy) => {
      if (policy === undefined) logger.info('redis keeps everything again');
      else
        logger.warn(
          { policy },
          'redis has begun to delete queued requests when its memory is full: set maxmemory-policy to noeviction',
        );
    },
    onFull: (fill) => {
      if (fill === undefined) logger.info('redis has memory again: requests are admitted');
      else
        logger.warn(
          { fill: Math.round(fill * 100) / 100 },
          'the memory of redis is nearly full: new requests are refused with 503 until some of it is free',
        );
    },
    onRefusal: (err) => {
      if (err === undefined) logger.info('redis tells again how full it is');
      else
        logger.warn(
          { err },
          'redis no longer tells how full it is, so requests would be admitted while it fills: allow its user INFO (+info)',
        );
    },
  });
  await memoryGate.start();
  metrics.redisMemory.readFrom(() => memoryGate.fill);
  lifecycle.onDrain('memory gate', () => memoryGate.close());
  const admission = createAdmission({ redis, memoryGate });
  await admission.start();
  lifecycle.onDrain('admission', () => admission.close());
  return admission;
}

/** Opens the ports. Comes last, because requests need everything else to be there. */
async function serve({ config, logger, lifecycle }: IngressProcess, services: Services): Promise<void> {
  const { metrics, dispatcher, isReady } = services;
  const app = await buildApp(services);
  const openFiles = openFilesLimit();
  if (openFiles !== undefined) {
    limitConnections(app.fastify.server, openFiles, monotonic, (connections) =>
      logger.warn({ connections }, 'clients are turned away: no files are left for more connections'),
    );
  }
  const ops = await openOpsServer({
    host: config.SLUICE_OPS_HOST,
    port: config.SLUICE_OPS_PORT,
    isReady,
    metrics: () => renderMetrics(metrics.registry),
  });
  lifecycle.onDrain('operations', () => ops.close());
  const port = await listen(app.fastify, config);
  lifecycle.onDrain('http', (limit) => app.close(limit, () => dispatcher.failAll()));
  const redis = printableAddress(config.SLUICE_REDIS_URL);
  logger.info({ host: config.SLUICE_HOST, port, opsPort: ops.port, redis }, 'serving');
  lifecycle.announceReady({ role: 'ingress', pid: process.pid, port, opsPort: ops.port });
}

async function listen(server: FastifyInstance, config: IngressConfig): Promise<number> {
  const { SLUICE_HOST: host, SLUICE_PORT: port } = config;
  const reusePort = config.SLUICE_PROCESS_SEAT !== undefined;
  try {
    // With this backlog a burst of new clients waits in the kernel instead of being turned away.
    await server.listen({ host, port, backlog: 4_096, ...(reusePort && { reusePort }) });
  } catch (cause) {
    throw listenFailure('the API', host, port, cause);
  }
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
