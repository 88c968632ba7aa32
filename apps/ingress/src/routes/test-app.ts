import { createAdmission } from '@sluice/admission';
import { parseCatalog } from '@sluice/catalog';
import { createIngressMetrics, createLogger, FakeClock } from '@sluice/runtime';
import { createKeyStore } from '@sluice/tenancy';
import { connected, createJobQueue, openRedis, WorkerDirectory } from '@sluice/transport';
import { buildApp } from '../app.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { watchOverload } from '../guards/overload.ts';
import { PromptPassage } from '../guards/prompt-passage.ts';
import { PromptRoom } from '../guards/prompt-room.ts';
import { createRequestIds } from '../request-ids.ts';
import type { Services } from '../services.ts';
import { createTicker } from '../ticker.ts';

/** What a test may change about its app. */
export interface TestAppOptions {
  /** The settings of the catalog. */
  settings: unknown;
  /** The models that the caller's key may use. Default: all. */
  models?: readonly string[];
  /** How long each turn of the event loop seems to take, where the limit is 100 ms. Default: no time. */
  turnMs?: number;
}

/** The whole HTTP server of an ingress on a real Redis, without workers. The test controls its time. */
export async function openTestApp(redisUrl: string, { settings, models, turnMs = 0 }: TestAppOptions) {
  const redis = openRedis(redisUrl, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  const keys = createKeyStore({ redis, secret: 'the secret of a test' });
  await keys.directory.upsertTenant('acme');
  const { credential } = await keys.directory.mint({ tenant: 'acme', ...(models && { models }) });

  const clock = new FakeClock();
  const now = () => clock.now();
  let isDeaf = false;
  let turns = 0;
  const overload = watchOverload(100, () => {
    turns += 1;
    return turns * turnMs;
  });
  const metrics = createIngressMetrics();
  const logger = createLogger({ name: 'test', destination: { write: () => undefined } });
  const queue = createJobQueue(redis);
  const directory = new WorkerDirectory({
    now,
    silenceLimitMs: 1_000,
    onLost: () => undefined,
    onHeardAgain: () => undefined,
  });
  const dispatcher = new Dispatcher({
    ...{ queue, directory, metrics, logger, now },
    orders: { send: () => undefined },
    isListening: () => !isDeaf,
    hearsReplies: () => !isDeaf,
    repliesReach: () => !isDeaf,
  });
  const ticker = createTicker(50, () => clock.monotonic());
  const services: Services = {
    ...{ keys, overload, queue, directory, dispatcher, ticker, metrics, logger, now },
    steadyNow: now,
    catalog: parseCatalog(settings),
    admission: createAdmission({ redis, clock }),
    promptRoom: new PromptRoom(1e8),
    promptPassage: new PromptPassage(1e8),
    ingress: 'i',
    keepAliveMs: 10_000,
    requestTimeoutMs: 60_000,
    stallLimitMs: 60_000,
    bodyLimitBytes: 1e6,
    monotonic: () => clock.monotonic(),
    newRequestId: createRequestIds(),
    isReady: () => ({ ready: true, reasons: [] }),
  };
  const app = await buildApp(services);
  const known = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' };
  const address = await app.fastify.listen({ port: 0, host: '127.0.0.1' });
  return {
    services,
    call: (path: string, { headers, ...request }: RequestInit & { headers?: Record<string, string> } = {}) =>
      fetch(address + path, { headers: { ...known, ...headers }, ...request }),
    /** Lets time pass in which no reply can reach the ingress. */
    deafen: async (durationMs: number) => {
      isDeaf = true;
      dispatcher.tick();
      await clock.advance(durationMs);
    },
    async [Symbol.asyncDispose]() {
      await app.close(AbortSignal.abort(), () => undefined);
      ticker.close();
      overload.close();
      await keys.close();
      await queue.close();
      redis.disconnect();
    },
  };
}
