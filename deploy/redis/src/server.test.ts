import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { findFreePort } from './free-port.ts';
import { startRedisServer } from './server.ts';

describe('startRedisServer', () => {
  it('says what the server said when it can not start', async () => {
    const taken = await startRedisServer();
    await expect(startRedisServer({ port: taken.port })).rejects.toThrow(/did not start: .*in use/);
    await taken.stop();
  });

  it('says which program is missing', async () => {
    const start = startRedisServer({ binary: '/nonexistent/redis-server', port: await findFreePort() });
    await expect(start).rejects.toThrow(/did not start: .*ENOENT/);
  });

  it('tells when the server was killed by somebody else', async () => {
    const server = await startRedisServer();
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
  });

  it('kills the server when the process that started it is killed, and leaves no folder behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-owner-'));
    // One that is not there yet.
    const owner = spawnOwner(join(folder, 'tmp'));
    const [line] = await once(createInterface({ input: owner.stdout }), 'line');
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    expect(await readdir(join(folder, 'tmp'))).toHaveLength(2);
    owner.kill('SIGKILL');
    await isGone(pid);
    await expect.poll(() => readdir(join(folder, 'tmp'))).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('kills the server when its guard is killed', async () => {
    const server = await startRedisServer();
    const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=', '-p', String(server.pid)]);
    process.kill(Number(stdout.trim()), 'SIGKILL');
    await server.exited;
    await isGone(server.pid);
    await server.stop();
  });
});

function spawnOwner(temporaryFolder: string) {
  const module = JSON.stringify(new URL('./server.ts', import.meta.url));
  const script = `import { startRedisServer } from ${module};
    const socket = process.env.TMPDIR + '/own/redis.sock';
    console.log((await startRedisServer({ socket })).pid); setInterval(() => undefined, 1e6);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporaryFolder },
  });
}

async function isGone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid)).toBe(false);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
