// The hops of an ingress without its work: see hops.ts.
import { createServer, type Socket } from 'node:net';
import { messageSize } from './http-message.ts';
import { createSender, subscribe } from './parcels.ts';

const clients = new Map<number, Socket>();
let exchanges = 0;
const send = createSender('hops:requests');

await subscribe('hops:answers', ({ exchange, bytes, isLast }) => {
  clients.get(exchange)?.write(bytes);
  if (isLast) clients.delete(exchange);
});

const server = createServer({ noDelay: true }, (socket) => {
  let come: Buffer = Buffer.alloc(0);
  // A client that leaves is noticed by the end of its answer.
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    come = come.length === 0 ? bytes : Buffer.concat([come, bytes]);
    const size = messageSize(come);
    if (size === undefined || come.length < size) return;
    exchanges += 1;
    clients.set(exchanges, socket);
    send({ exchange: exchanges, bytes: come.subarray(0, size), isLast: true });
    come = come.subarray(size);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  process.send?.({ type: 'ready', pid: process.pid, port });
});
