import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A Redis in a container; testcontainers' reaper removes it when this process ends without `stop`. */
export interface RedisContainer {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

const pingLimitMs = 1_000;

/** Whether a Docker daemon answers at one of the usual addresses. Takes a second at most. */
export async function isDockerRunning(environment: NodeJS.ProcessEnv): Promise<boolean> {
  const host = environment.DOCKER_HOST;
  if (host?.startsWith('tcp://')) return ping({ host: new URL(host).hostname, port: new URL(host).port });
  const sockets = host?.startsWith('unix://')
    ? [host.slice('unix://'.length)]
    : [
        '/var/run/docker.sock',
        join(environment.XDG_RUNTIME_DIR ?? '/nonexistent', 'docker.sock'),
        join(homedir(), '.docker/run/docker.sock'),
        join(homedir(), '.colima/default/docker.sock'),
      ];
  const answers = await Promise.all(sockets.filter(existsSync).map((socketPath) => ping({ socketPath })));
  return answers.includes(true);
}

/** Starts `redis:7` with the same settings as a local server, and with more arguments. Default: none. */
export async function startRedisContainer(more: readonly string[] = []): Promise<RedisContainer> {
  // Loaded only here, so that it costs nothing where a Redis is at hand.
  const { GenericContainer, Wait } = await import('testcontainers');
  // The port is published on every address of this host: without a password, anybody on its network could use it.
  const password = randomBytes(16).toString('hex');
  const settings = [
    '--requirepass',
    password,
    '--save',
    '',
    '--appendonly',
    'no',
    '--maxmemory-policy',
    'noeviction',
    ...more,
  ];
  const container = await new GenericContainer('redis:7')
    .withCommand(['redis-server', ...settings])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  const port = container.getMappedPort(6379);
  return {
    url: `redis://:${password}@${container.getHost()}:${port}`,
    port,
    async stop() {
      await container.stop();
    },
  };
}

function ping(where: { socketPath: string } | { host: string; port: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ ...where, path: '/_ping', timeout: pingLimitMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
    asked.on('close', () => resolve(false));
    asked.end();
  });
}
