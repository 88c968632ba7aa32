import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

// Below what systems give to outgoing connections (Linux from 32,768, others from 49,152): a port out of that range
// may be taken by any client on the machine between the question and the start of whoever asked. So may that of the bus
// by which the nodes of a Cluster speak to each other, 10,000 above their own.
const lowest = 10_000;
const highest = 22_000;
const attempts = 100;

/** The first of `count` TCP ports of 127.0.0.1 in a row that nobody listens on at this moment. Default: one port. */
export async function findFreePort(count = 1): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const first = lowest + Math.floor(Math.random() * (highest - lowest - count));
    const servers: Server[] = [];
    try {
      for (let port = first; port < first + count; port++) servers.push(await listen(port));
      return first;
    } catch (thrown) {
      if (attempt === attempts) throw thrown;
    } finally {
      await Promise.all(servers.map(close));
    }
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}
