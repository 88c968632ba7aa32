import { SluiceError } from '@sluice/canonical';
import { canInstallPackages, findProgram, installRedisPackage } from './debian.ts';
import { isDockerRunning, startRedisContainer } from './docker.ts';
import { type RedisServer, startRedisServer } from './server.ts';

export interface OpenRedisOptions {
  /** Use this Redis and nothing else; whether it answers is not asked. Default: the first rung of the ladder that holds. */
  url?: string | undefined;
  /** Never take a Redis that others may use: leaves REDIS_URL out. Default: false. */
  own?: boolean;
  /** Of a server that is started here. Default: any free port. */
  port?: number;
  /** A Unix socket of a server that is started here; it is reached by that. Absent: it has none. */
  socket?: string | undefined;
  /** Where REDIS_URL, PATH and DOCKER_HOST are read. Default: this process's. */
  environment?: NodeJS.ProcessEnv;
  /** Told what happens, one sentence at a time. Default: silence. */
  say?: (sentence: string) => void;
}

/** A Redis, and how it was found. One that was started here is good for queues. */
export interface OpenedRedis {
  readonly url: string;
  readonly origin: 'given' | 'started' | 'container';
  /** Present when the server was started here, which makes it possible to kill and restart it. */
  readonly server?: RedisServer;
  /** Gives back what was opened: ends a server or container started here, leaves a given one alone. */
  close(): Promise<void>;
}

/**
 * Finds or starts a Redis. The ladder: an address that was given (`url`, then REDIS_URL); redis-server on PATH;
 * Docker where a daemon has or gets the image; the Debian package where we are root. Rejects with one sentence otherwise.
 */
export async function openRedis(options: OpenRedisOptions = {}): Promise<OpenedRedis> {
  const environment = options.environment ?? process.env;
  const say = options.say ?? (() => undefined);
  const given = options.url ?? (options.own ? undefined : environment.REDIS_URL || undefined);
  if (given !== undefined) return { url: given, origin: 'given', close: async () => undefined };
  const binary = findProgram('redis-server', environment);
  if (binary !== undefined) return openServer(binary, options, say);
  if (await isDockerRunning(environment)) {
    say('starting Redis in Docker');
    try {
      const container = await startRedisContainer();
      return { url: container.url, origin: 'container', close: () => container.stop() };
    } catch (thrown) {
      // A daemon that answers may still lack the image and a way to it.
      say(`Docker has none: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  }
  if (canInstallPackages(environment)) {
    say('installing the package redis-server');
    const installed = (await installRedisPackage(environment)) && findProgram('redis-server', environment);
    if (installed) return openServer(installed, options, say);
  }
  throw new SluiceError(
    'unavailable',
    'no Redis found: set REDIS_URL, or install redis-server so that it is on PATH, or start Docker',
  );
}

async function openServer(
  binary: string,
  { port, socket }: OpenRedisOptions,
  say: (sentence: string) => void,
): Promise<OpenedRedis> {
  const server = await startRedisServer({
    binary,
    ...(port !== undefined && { port }),
    socket,
  });
  say(`started Redis on port ${server.port}`);
  return { url: server.url, origin: 'started', server, close: () => server.stop() };
}
