import { SluiceError } from '@sluice/canonical';
import { canInstallPackages, findProgram, installRedisPackage } from './debian.ts';
import { isDockerRunning, startRedisContainer } from './docker.ts';
import { type RedisServer, startRedisServer } from './server.ts';

/**
 * As in redis.conf: ten pictures of 4 MB at a time are further behind than Redis allows by default. It then cuts off the
 * ingress, so that the streams of all its clients halt, and pictures among what was lost may not be kept any more.
 */
const roomForAnswers = ['--client-output-buffer-limit', 'pubsub', '256mb', '64mb', '60'];

export interface OpenRedisOptions {
  /**
   * Use this Redis and no other; whether it answers is not checked. Default: the first of the ladder below that works.
   */
  url?: string | undefined;
  /** Never take a Redis that others may use: ignores REDIS_URL. Default: false. */
  own?: boolean;
  /** Port of a server that is started here. Default: any free one. */
  port?: number;
  /** Unix socket of a server that is started here; `url` is then that of the socket. Absent: it has none. */
  socket?: string | undefined;
  /** Where REDIS_URL, PATH and DOCKER_HOST are read. Default: this process's. */
  environment?: NodeJS.ProcessEnv;
  /** Called with what happens, one sentence at a time. Default: nothing is said. */
  say?: (sentence: string) => void;
}

/**
 * A Redis, and how it was found. One that was started here evicts nothing, as queues need, and has room for large answers.
 */
export interface OpenedRedis {
  readonly url: string;
  readonly origin: 'given' | 'started' | 'container';
  /** Present if the server was started here: it can be killed and restarted then. */
  readonly server?: RedisServer;
  /** Ends a server or container that was started here; leaves a given one alone. */
  close(): Promise<void>;
}

/**
 * Finds or starts a Redis, by the first of these that works: a given address (`url`, then REDIS_URL); redis-server on
 * PATH; Docker, if a daemon has or gets the image; the Debian package, if we are root. Rejects with one sentence if
 * none does.
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
      const container = await startRedisContainer(roomForAnswers);
      return { url: container.url, origin: 'container', close: () => container.stop() };
    } catch (thrown) {
      // A daemon that answers may still lack the image, and a network to fetch it.
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
    arguments: roomForAnswers,
  });
  say(`started Redis on port ${server.port}`);
  return { url: server.url, origin: 'started', server, close: () => server.stop() };
}
