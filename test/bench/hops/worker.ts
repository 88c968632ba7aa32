// The hops of a worker without its work: see hops.ts.
import { connect, type Socket } from 'node:net';
import { endsChunks, messageSize } from './http-message.ts';
import { createSender, subscribe } from './parcels.ts';

const upstream = new URL(process.env.HOPS_UPSTREAM ?? '');
const free = new Set<Connection>();
const send = createSender('hops:answers');
const nothing: Buffer = Buffer.alloc(0);

/** A connection to the upstream, for one exchange after the other. */
class Connection {
  private readonly socket: Socket;
  private exchange = 0;
  /** Bytes of the answer that are yet to come; absent for a chunked body, and before the head. */
  private left: number | undefined;
  private hasHead = false;
  private before: Buffer = nothing;

  constructor() {
    this.socket = connect({ port: Number(upstream.port), host: upstream.hostname, noDelay: true });
    this.socket.on('data', (bytes: Buffer) => this.pass(bytes));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => free.delete(this));
  }

  ask(exchange: number, request: Buffer): void {
    this.exchange = exchange;
    this.left = undefined;
    this.hasHead = false;
    this.before = nothing;
    this.socket.write(request);
  }

  private pass(bytes: Buffer): void {
    if (!this.hasHead) {
      this.hasHead = true;
      const size = messageSize(bytes) ?? 0;
      const isChunked = size > 0 && bytes.indexOf('\r\n\r\n') + 4 === size;
      if (!isChunked) this.left = size;
    }
    if (this.left !== undefined) this.left -= bytes.length;
    const isLast = this.left === undefined ? endsChunks(bytes, this.before) : this.left <= 0;
    this.before = bytes;
    send({ exchange: this.exchange, bytes, isLast });
    if (isLast) free.add(this);
  }
}

await subscribe('hops:requests', ({ exchange, bytes }) => {
  const [known] = free;
  const connection = known ?? new Connection();
  free.delete(connection);
  connection.ask(exchange, bytes);
});
process.send?.({ type: 'ready', pid: process.pid });
