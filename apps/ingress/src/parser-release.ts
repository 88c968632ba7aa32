import type { Server, ServerResponse } from 'node:http';

const nothing = Buffer.alloc(0);
const ignore = (): void => undefined;

/**
 * Gives back the HTTP parser of a connection whose request was read and whose answer is silent. The answer is
 * written on as before; the connection ends with it, because nothing reads a next request any more.
 *
 * A parser is 10 KB of native memory, more than all the rest of an idle stream (`npm run bench -- --only memory`).
 * Node lets go of one where a connection is handed over to another protocol, so that is what we ask for.
 */
export function releaseParser(server: Server, response: ServerResponse): void {
  const { req: request } = response;
  const { socket } = request;
  if (!request.complete || socket.destroyed || !handOver(server, response)) return;
  // Announced where the head can still say it.
  if (!response.headersSent) response.shouldKeepAlive = false;
  // The headers were read in their other form.
  request.rawHeaders = [];
  // All that Node's own listeners, which are gone, did for an answer under way.
  socket.on('drain', () => response.emit('drain'));
  socket.on('timeout', () => response.emit('timeout'));
  socket.on('error', ignore);
  socket.on('end', () => socket.end());
  response.on('finish', () => socket.destroySoon());
  socket.resume();
}

/** False where this version of Node does not do it: then everything is as it was. */
function handOver(server: Server, { req: request }: ServerResponse): boolean {
  let isDone = false;
  const taken = (): void => {
    isDone = true;
  };
  // All within this call: no client's own wish to upgrade meets the listener.
  server.once('upgrade', taken);
  Object.assign(request, { upgrade: true });
  request.socket.emit('data', nothing);
  Object.assign(request, { upgrade: false });
  server.off('upgrade', taken);
  return isDone;
}
