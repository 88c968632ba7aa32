import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import { openRedis } from './open.ts';
import { startRedisServer } from './server.ts';

const searchPath = process.env.PATH ?? '';

describe('openRedis', () => {
  it('uses the Redis that was given and leaves it running', async () => {
    const server = await startRedisServer();
    const opened = await openRedis({ environment: { REDIS_URL: server.url, PATH: searchPath } });
    expect(opened).toMatchObject({ origin: 'given', url: server.url });
    await opened.close();
    expect(await answers(server.url)).toBe(true);
    await server.stop();
  });

  it('prefers the address in the options to the one in the environment', async () => {
    const server = await startRedisServer();
    const environment = { REDIS_URL: 'redis://127.0.0.1:1', PATH: searchPath };
    const opened = await openRedis({ url: server.url, environment });
    expect(opened.url).toBe(server.url);
    await server.stop();
  });

  it('starts one where none is given and ends it at close', async () => {
    const said: string[] = [];
    const opened = await openRedis({ environment: { PATH: searchPath }, say: (line) => said.push(line) });
    expect(opened.origin).toBe('started');
    expect(said).toEqual([`started Redis on port ${opened.server?.port}`]);
    await opened.close();
    expect(await answers(opened.url)).toBe(false);
  });

  it('starts one that lets subscribers fall as far behind as that of a deployment', async () => {
    const opened = await openRedis({ own: true, environment: { PATH: searchPath } });
    const client = new Redis(opened.url);
    const [, limits] = (await client.config('GET', 'client-output-buffer-limit')) as [string, string];
    await client.quit();
    await opened.close();
    const [hard, soft, seconds] = /pubsub (\d+) (\d+) (\d+)/.exec(limits)?.slice(1).map(Number) ?? [];
    const megabyte = 1024 * 1024;
    const line = `client-output-buffer-limit pubsub ${Number(hard) / megabyte}mb ${Number(soft) / megabyte}mb ${seconds}`;
    expect(readFileSync(new URL('../redis.conf', import.meta.url), 'utf8')).toContain(`\n${line}\n`);
  });

  it('starts its own where sharing is not wanted', async () => {
    const environment = { REDIS_URL: 'redis://127.0.0.1:1', PATH: searchPath };
    const opened = await openRedis({ own: true, environment });
    expect(opened.origin).toBe('started');
    await opened.close();
  });

  it('goes on where a Docker daemon answers and gives nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-docker-'));
    const socket = join(folder, 'docker.sock');
    const daemon = createServer((request, response) => {
      // It must know itself, or the client goes on to the daemon of this machine.
      response.writeHead(['/_ping', '/info'].includes(request.url ?? '') ? 200 : 500).end('{}');
    });
    await new Promise<void>((resolve) => daemon.listen(socket, resolve));
    vi.stubEnv('DOCKER_HOST', `unix://${socket}`);
    const said: string[] = [];
    const opening = openRedis({
      own: true,
      environment: { PATH: folder, DOCKER_HOST: `unix://${socket}` },
      say: (line) => said.push(line),
    });
    await expect(opening).rejects.toThrow(/^no Redis found: set REDIS_URL/);
    expect(said).toEqual(['starting Redis in Docker', expect.stringMatching(/^Docker has none: ./)]);
    vi.unstubAllEnvs();
    daemon.closeAllConnections();
    await new Promise((resolve) => daemon.close(resolve));
    rmSync(folder, { recursive: true });
  });

  it('starts one that its owner alone can reach by a socket, too', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'sluice socket '));
    const folder = join(parent, 'missing');
    const socket = join(folder, 'redis.sock');
    const opened = await openRedis({ socket, environment: { PATH: searchPath } });
    expect(new URL(opened.url)).toMatchObject({
      protocol: 'unix:',
      pathname: socket.replaceAll(' ', '%20'),
    });
    expect(await answers(socket)).toBe(true);
    expect(statSync(socket).mode & 0o777).toBe(0o700);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await opened.close();
    expect(readdirSync(parent)).toEqual([]);
    rmSync(parent, { recursive: true });
  });
});

async function answers(place: string): Promise<boolean> {
  const client = new Redis(place, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
