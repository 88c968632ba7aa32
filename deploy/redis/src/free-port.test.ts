import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { endOfRange, findFreePort } from './free-port.ts';

describe('findFreePort', () => {
  it('names the first of as many ports in a row as were asked for, all of them free', async () => {
    const first = await findFreePort(3);
    const servers = [first, first + 1, first + 2].map((port) => createServer().listen(port, '127.0.0.1'));
    await Promise.all(servers.map((server) => once(server, 'listening')));
    for (const server of servers) server.close();
  });

  it('names no port that an outgoing connection could take in the meantime', async () => {
    for (let count = 0; count < 50; count++) {
      const port = await findFreePort();
      expect(port).toBeGreaterThanOrEqual(10_000);
      expect(port).toBeLessThan(32_768);
    }
  });

  it.runIf(process.platform === 'linux')(
    'names to nobody else what it has named to a process that lives',
    async () => {
      // So many that chance alone would name some of them twice.
      const named = new Set<number>();
      for (let count = 0; count < 2_000; count += 1) named.add(await findFreePort());
      expect(named.size).toBe(2_000);
      const script = `import { findFreePort } from ${JSON.stringify(new URL('./free-port.ts', import.meta.url).href)};
        for (let count = 0; count < 30; count += 1) console.log(await findFreePort());`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
      const others = stdout.trim().split('\n').map(Number);
      expect(others.filter((port) => named.has(port))).toEqual([]);
      expect(new Set(others).size).toBe(30);
    },
  );

  it.each([
    ['as Linux gives them', 32_768, 22_000],
    ['some of ours', 16_000, 16_000],
    ['nearly all there are', 1_024, 22_000],
  ])('leaves to clients what is theirs: %s', (_which, clientsFrom, end) => {
    expect(endOfRange(clientsFrom)).toBe(end);
  });
});
