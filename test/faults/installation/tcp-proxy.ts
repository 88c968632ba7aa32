import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ProxyFault } from './proxy-fault.ts';
import { Wire } from './wire.ts';

/** A TCP relay to one server that can be made faulty while it runs. */
export interface FaultProxy {
  readonly port: number;
  /** Number of open connections. */
  readonly connections: number;
  /** Replaces the fault of all connections, open and future. */
  set(fault: ProxyFault): Promise<void>;
  /** Makes future connections lead to another port. */
  retarget(port: number): void;
  /** Resets every connection. */
  resetAll(): void;
  /** Forgets every open connection, as a middlebox does after a while: neither end is told. New connections pass. */
  forgetAll(): void;
  stop(): Promise<void>;
}

/** Relays from a free port of 127.0.0.1 to `target` there. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const wires = new Set<Wire>();
  let targetPort = target;
  let fault: ProxyFault = { kind: 'pass' };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    if (fault.kind === 'drop') {
      client.destroy();
      return;
    }
    const wire = new Wire(client, connectTo(targetPort), fault);
    wires.add(wire);
    wire.onClose(() => wires.delete(wire));
  });
  const port = await listen(server, 0);
  return {
    port,
    get connections() {
      return wires.size;
    },
    set: async (next) => {
      const wasListening = fault.kind !== 'refuse';
      fault = next;
      for (const wire of [...wires]) wire.set(next);
      if (next.kind === 'refuse' && wasListening) server.close();
      if (next.kind !== 'refuse' && !wasListening) await listen(server, port);
    },
    retarget: (next) => {
      targetPort = next;
    },
    resetAll: () => {
      for (const wire of [...wires]) wire.reset();
    },
    forgetAll: () => {
      for (const wire of wires) wire.forget();
    },
    stop: async () => {
      for (const wire of [...wires]) wire.reset();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

function connectTo(port: number): Socket {
  return connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1', 4_096);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return address.port;
}
