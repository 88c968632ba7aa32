import { isIPv6 } from 'node:net';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import { findFreePort } from '@sluice/redis';
import type { Clock } from '@sluice/runtime';
import { z } from 'zod';
import type { Announcement, RunningProcess } from './announcement.ts';
import { Child, type ReadyMessage } from './child.ts';
import { type CliEnvironment, createCliEnvironment } from './cli-environment.ts';
import type { Flags } from './flags.ts';
import { createGgufSettings, ggufPool } from './gguf-settings.ts';
import { LocalRedis } from './local-redis.ts';
import { assertPortsFree } from './ports.ts';
import { openState, type State } from './state.ts';
import { createUpstreamSettings, upstreamKeyName } from './upstream-settings.ts';

export interface InstallationOptions {
  flags: Flags;
  environment: NodeJS.ProcessEnv;
  /** Where secret, key and settings are kept. */
  stateFolder: string;
  clock: Clock;
  /** Called with what happens, one sentence at a time. */
  say(sentence: string): void;
}

const entries = {
  ingress: fileURLToPath(new URL('../../apps/ingress/src/main.ts', import.meta.url)),
  worker: fileURLToPath(new URL('../../apps/worker/src/main.ts', import.meta.url)),
};
/** The time that programs need to close, in addition to their drain. */
const closeLimitMs = 2_500;
const redisLimitMs = 5_000;
const killLimitMs = 1_000;
const modelsLimitMs = 15_000;
const modelsPauseMs = 50;

const modelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })).min(1) });

/** Redis, ingresses and workers on this machine, started and stopped together. */
export class Installation {
  private readonly options: InstallationOptions;
  private readonly ingresses: Child[] = [];
  private readonly workers: Child[] = [];
  private readonly stopping = new AbortController();
  private opening: Promise<{ redis: LocalRedis; apiKey: string }> | undefined;
  private cliEnvironment: CliEnvironment | undefined;

  constructor(options: InstallationOptions) {
    this.options = options;
  }

  /** Resolves when every process serves and lists its models. The caller must call `stop` even if it rejects. */
  async start(): Promise<Announcement> {
    const { flags, environment, clock, say } = this.options;
    const { host } = flags;
    await assertPortsFree(flags);
    const state = openState(this.options.stateFolder);
    const keySecret = flags.keySecret ?? state.keySecret;
    this.opening = LocalRedis.open({
      url: flags.redis,
      environment,
      keySecret,
      clock,
      say,
    });
    const { redis, apiKey } = await this.opening;
    this.stopping.signal.throwIfAborted();
    state.write('key', `${apiKey}\n`);
    const config = await this.writeSettings(state.write);
    // Both files have been read into the values below; a program that got a value and its file would complain.
    const { SLUICE_REDIS_URL_FILE: _url, SLUICE_KEY_SECRET_FILE: _secret, ...others } = environment;
    const shared = {
      ...others,
      SLUICE_REDIS_URL: redis.url,
      SLUICE_PROCESSES: String(flags.processes),
      SLUICE_LOG_LEVEL: flags.logLevel,
      // Set as well as `stop`'s limit, in case this process dies and can no longer enforce that one.
      SLUICE_DRAIN_LIMIT_MS: String(flags.drainLimitMs),
      ...(config !== undefined && { SLUICE_CONFIG: config }),
      ...(flags.upstreamKey !== undefined && { [upstreamKeyName]: flags.upstreamKey }),
    };
    await this.createChildren(shared, keySecret);
    const ready = await this.startChildren();
    const baseUrls = this.ingresses.map((_, index) => `http://${reachableAt(host)}:${flags.port + index}`);
    return {
      baseUrls,
      metricsUrls: ready.flatMap((child) => metricsUrls(child.ready, flags.opsHost)),
      apiKey,
      models: await this.listModels(baseUrls, apiKey),
      redisUrl: redis.url,
      cliEnvironment: this.writeCliEnvironment(redis, state),
      processes: [
        { role: 'supervisor', name: 'start', pid: process.pid },
        ...(redis.pid === undefined ? [] : [{ role: 'redis' as const, name: 'redis', pid: redis.pid }]),
        ...ready.flatMap((child) => processesOf(child.name, child.ready)),
      ],
    };
  }

  /** Ingresses drain first, since they need workers for it; Redis goes last. Takes a few seconds at most. */
  async stop(): Promise<void> {
    this.stopping.abort();
    const stopLimitMs = this.options.flags.drainLimitMs + closeLimitMs;
    await Promise.all(this.ingresses.map((child) => child.stop(stopLimitMs)));
    await Promise.all(this.workers.map((child) => child.stop(stopLimitMs)));
    // A Redis that is still starting is waited for, or its folders would stay; not for long, since an image may take
    // minutes.
    await Promise.race([this.closeRedis(), this.options.clock.sleep(redisLimitMs)]);
    this.cliEnvironment?.remove();
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    this.stopping.abort();
    for (const child of [...this.ingresses, ...this.workers]) child.kill();
    this.cliEnvironment?.remove();
    await Promise.race([this.closeRedis(), this.options.clock.sleep(killLimitMs)]);
  }

  private async closeRedis(): Promise<void> {
    // A Redis that failed to open has cleaned up after itself.
    const opened = await this.opening?.catch(() => undefined);
    await opened?.redis.close();
  }

  private async createChildren(shared: NodeJS.ProcessEnv, keySecret: string): Promise<void> {
    const { flags, clock, say } = this.options;
    const { SLUICE_HOST: _host, SLUICE_PORT: _port, SLUICE_KEY_SECRET: _secret, ...common } = shared;
    // Chosen now, so that a restarted process listens where its predecessor did.
    let nextOpsPort = flags.opsPort;
    const findOpsPort = async () => {
      if (flags.opsPort === 0) return String(await findFreePort(flags.processes));
      nextOpsPort += flags.processes;
      return String(nextOpsPort - flags.processes);
    };
    for (let index = 0; index < flags.ingresses; index++) {
      const environment = {
        ...common,
        SLUICE_HOST: flags.host,
        SLUICE_PORT: String(flags.port + index),
        SLUICE_KEY_SECRET: keySecret,
        SLUICE_OPS_PORT: await findOpsPort(),
      };
      this.ingresses.push(
        new Child({ name: `ingress ${index + 1}`, entry: entries.ingress, environment, clock, say }),
      );
    }
    for (let index = 0; index < flags.workers; index++) {
      const environment = { ...common, SLUICE_OPS_PORT: await findOpsPort() };
      this.workers.push(
        new Child({ name: `worker ${index + 1}`, entry: entries.worker, environment, clock, say }),
      );
    }
  }

  /** In the order of the announcement: ingresses, then workers. */
  private async startChildren(): Promise<{ name: string; ready: ReadyMessage }[]> {
    const serve = async (child: Child) => ({
      name: child.name,
      ready: await child.start(this.stopping.signal),
    });
    // Only a worker checks every part of the settings. One worker starts alone, so that all mistakes are reported
    // together and once.
    const [scout, ...workers] = this.workers;
    const first = scout ? [await serve(scout)] : [];
    if (this.options.flags.gguf !== undefined) assertModelServed(this.options.flags.gguf, first);
    const ingresses = Promise.all(this.ingresses.map(serve));
    const others = Promise.all(workers.map(serve));
    return (await Promise.all([ingresses, first, others])).flat();
  }

  /**
   * Writes settings if a flag names what to serve. Returns the path of the settings file; absent for the built-in
   * settings.
   */
  private async writeSettings(write: (name: string, text: string) => string): Promise<string | undefined> {
    const { flags, say } = this.options;
    const { config, port } = flags;
    const settings = await createSettings(flags, say);
    if (settings === undefined) return config;
    // By port, so that two installations with different models do not read each other's file.
    return write(`settings-${port}.json`, `${JSON.stringify(settings, undefined, 2)}\n`);
  }

  private writeCliEnvironment(redis: LocalRedis, state: State): Readonly<Record<string, string>> {
    const { flags, environment } = this.options;
    const { keySecret: givenKeySecret, port } = flags;
    this.cliEnvironment = createCliEnvironment({ redis, givenKeySecret, environment, state, port });
    return this.cliEnvironment.variables;
  }

  /** Every ingress must list models before the installation counts as serving. */
  private async listModels(baseUrls: readonly string[], apiKey: string): Promise<string[]> {
    const limit = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(modelsLimitMs)]);
    const lists = await Promise.all(baseUrls.map((baseUrl) => this.awaitModels(baseUrl, apiKey, limit)));
    return lists[0] ?? [];
  }

  private async awaitModels(baseUrl: string, apiKey: string, limit: AbortSignal): Promise<string[]> {
    for (;;) {
      const models = await fetchModels(baseUrl, apiKey, limit);
      if (models !== undefined) return models;
      if (limit.aborted) throw new SluiceError('unavailable', `${baseUrl} lists no models`);
      await this.options.clock.sleep(modelsPauseMs);
    }
  }
}

/** Settings for the model server or file that a flag names; absent if no flag does. */
async function createSettings(
  { upstream, upstreamKey, gguf }: Flags,
  say: InstallationOptions['say'],
): Promise<object | undefined> {
  if (gguf !== undefined) return createGgufSettings(gguf);
  return upstream === undefined ? undefined : createUpstreamSettings(upstream, upstreamKey, say);
}

/**
 * Throws if a worker could not load the model file. The worker serves the simulated model nevertheless, and tries again:
 * worth it for a server that may come, but a file stays as it is.
 */
function assertModelServed(gguf: string, started: readonly { name: string; ready: ReadyMessage }[]): void {
  for (const { name, ready } of started) {
    if (ready.workers?.every(({ pools }) => pools?.includes(ggufPool))) continue;
    throw new SluiceError('unavailable', `${name} can't serve ${gguf}; its log says why`);
  }
}

/** The host of a URL by which this machine reaches what listens on `host`. */
function reachableAt(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

async function fetchModels(
  baseUrl: string,
  apiKey: string,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  try {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${baseUrl}/v1/models`, { headers, signal });
    const list = modelList.safeParse(await response.json());
    return list.success ? list.data.data.map(({ id }) => id) : undefined;
  } catch {
    // It does not answer yet, or no longer: the caller decides how long to try.
    return undefined;
  }
}

function metricsUrls({ opsPort, ingresses, workers }: ReadyMessage, host: string): string[] {
  const ports =
    (ingresses ?? workers)?.map((member) => member.opsPort) ?? (opsPort === undefined ? [] : [opsPort]);
  return ports.map((port) => `http://${reachableAt(host)}:${port}/metrics`);
}

function processesOf(name: string, { pid, ingresses, workers }: ReadyMessage): RunningProcess[] {
  const role = workers ? 'worker' : 'ingress';
  const members = ingresses ?? workers;
  if (!members) return [{ role, name, pid }];
  return [
    { role: 'supervisor', name, pid },
    ...members.map((member) => ({ role, name, pid: member.pid }) as const),
  ];
}
