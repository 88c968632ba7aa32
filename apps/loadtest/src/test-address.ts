import { once } from 'node:events';
import type { Server } from 'node:net';

/** Lets a server of a test listen on a free port. Resolves with its address. */
export async function listenAnywhere(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}
