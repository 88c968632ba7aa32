import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

// Below what systems give to outgoing connections (Linux from 32,768, others from 49,152): a port out of that range
// may be taken by any client on the machine between the question and the start of whoever asked. So may that of the bus
// by which the nodes of a Cluster speak to each other, 10,000 above their own.
const lowest = 10_000;
const highest = 22_000;
/** Where a machine gives nearly all ports to clients, what is left would soon be used up. */
const fewestPorts = 2_000;
const attempts = 100;

/**
 * The first of `count` TCP ports of 127.0.0.1 in a row that nobody listens on at this moment. On Linux nobody else who
 * asks is told one of them for as long as this process lives: whoever it is for may take seconds to start. Default:
 * one port.
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

/** Where the ports that are given out end, on a machine whose clients get theirs from `clientsFrom` on. */
export function endOfRange(clientsFrom: number): number {
  return clientsFrom - lowest < fewestPorts ? highest : Math.min(highest, clientsFrom);
}

function firstPortOfClients(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    // Not Linux, or it doesn't show.
    return highest;
  }
}

/** Names in Linux' abstract space belong to one process at a time, and end with it; like ports, to one network each. */
async function reserve(port: number): Promise<Server[]> {
  if (process.platform !== 'linux') return [];
  try {
    const holder = await listen(createServer(), `\0sluice-port-${port}`);
    holder.unref();
    return [holder];
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE') throw thrown;
    // Where such names are not allowed, a port is only as free as it looks.
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
