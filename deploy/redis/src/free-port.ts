import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

// Below the ports that systems give to outgoing connections (Linux from 32,768, others from 49,152): any client on the
// machine may take one of those before the caller's server has started. The same goes for the bus port of a Cluster's
// nodes, which is 10,000 above their own.
const lowest = 10_000;
const highest = 22_000;
/** On a machine that gives nearly all ports to clients, those that are left would soon be used up. */
const fewestPorts = 2_000;
const attempts = 100;

/**
 * The first of `count` TCP ports of 127.0.0.1 in a row that nobody listens on at this moment. On Linux, no other caller
 * of this function gets one of them for as long as this process lives, since a server may take seconds to start.
 * Default: one port.
 */
export async function findFreePort(count = 1): Promise<number> {
  const end = endOfRange(firstPortOfClients());
  for (let attempt = 1; ; attempt++) {
    const first = lowest + Math.floor(Math.random() * (end - lowest - count));
    const servers: Server[] = [];
    const reservations: Server[] = [];
    try {
      for (let port = first; port < first + count; port++) {
        reservations.push(...(await reserve(port)));
        servers.push(await listen(createServer(), port));
      }
      return first;
    } catch (thrown) {
      await Promise.all(reservations.map(close));
      if (attempt === attempts) throw thrown;
    } finally {
      await Promise.all(servers.map(close));
    }
  }
}

/** The highest port that is given out on a machine whose clients get ports from `clientsFrom` on. */
export function endOfRange(clientsFrom: number): number {
  return clientsFrom - lowest < fewestPorts ? highest : Math.min(highest, clientsFrom);
}

function firstPortOfClients(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    // Not Linux, or the range can't be read.
    return highest;
  }
}

/**
 * Reserves a port by a socket name in Linux' abstract namespace. Such a name belongs to one process at a time, goes
 * with the process, and like a port is valid in one network namespace.
 */
async function reserve(port: number): Promise<Server[]> {
  if (process.platform !== 'linux') return [];
  try {
    const holder = await listen(createServer(), `\0sluice-port-${port}`);
    holder.unref();
    return [holder];
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE') throw thrown;
    // Where such names are not allowed, nothing is reserved.
    return [];
  }
}

async function listen(server: Server, where: number | string): Promise<Server> {
  if (typeof where === 'number') server.listen(where, '127.0.0.1');
  else server.listen(where);
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}
