import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { findFreePort } from './free-port.ts';

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
});
