import type { Socket } from 'node:net';
import type { ProxyFault } from './proxy-fault.ts';

const throttleTickMs = 20;
const pieceLimitBytes = 64 * 1024;

/** One relayed connection: a client's socket and its twin at the server, with a fault between them. */
export class Wire {
  private readonly toServer: Lane;
  private readonly toClient: Lane;
  private readonly client: Socket;
  private readonly server: Socket;
  private cutIn = Number.POSITIVE_INFINITY;
  private isForgotten = false;
  private closed: () => void = () => undefined;

  constructor(client: Socket, server: Socket, fault: ProxyFault) {
    this.client = client;
    this.server = server;
    this.toServer = new Lane(client, server, () => undefined);
    this.toClient = new Lane(server, client, (bytes) => this.count(bytes));
    this.set(fault);
    for (const socket of [client, server]) {
      socket.on('error', () => this.reset());
      socket.on('close', () => this.closeIfDone());
    }
  }

  onClose(listener: () => void): void {
    this.closed = listener;
  }

  /** From now on passes nothing, not even the end of one side, whatever fault is set later. */
  forget(): void {
    this.set({ kind: 'blackhole' });
    this.isForgotten = true;
  }

  set(fault: ProxyFault): void {
    if (this.isForgotten) return;
    if (fault.kind !== 'blackhole' && (this.toServer.hasLost || this.toClient.hasLost)) {
      this.reset();
      return;
    }
    this.cutIn = fault.kind === 'cut-after' ? fault.bytes : Number.POSITIVE_INFINITY;
    this.toServer.set(fault.kind === 'half-open' ? { kind: 'pass' } : fault);
    this.toClient.set(fault);
  }

  reset(): void {
    for (const socket of [this.client, this.server]) {
      // libuv refuses to reset what is shutting down, and Node then never closes it: the process could not end.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
    this.toServer.stop();
    this.toClient.stop();
    this.closed();
  }

  private count(bytes: number): void {
    this.cutIn -= bytes;
    if (this.cutIn <= 0) this.reset();
  }

  private closeIfDone(): void {
    if (this.isForgotten) {
      // The server keeps its half, as behind a real middlebox; it does not count as a connection.
      if (this.client.destroyed) this.closed();
      return;
    }
    if (this.client.destroyed && this.server.destroyed) this.reset();
    // One side is gone for good: what it left in the lanes still goes to the other side, which then ends, too.
    else if (this.client.destroyed) this.server.end();
  }
}

/** One direction of a connection. */
class Lane {
  hasLost = false;
  private fault: ProxyFault = { kind: 'pass' };
  private readonly waiting: { bytes: Buffer | undefined; dueAt: number }[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly from: Socket;
  private readonly to: Socket;
  private readonly onPassed: (bytes: number) => void;

  constructor(from: Socket, to: Socket, onPassed: (bytes: number) => void) {
    this.from = from;
    this.to = to;
    this.onPassed = onPassed;
    from.on('data', (bytes) => this.take(Buffer.from(bytes)));
    from.on('end', () => this.take(undefined));
    to.on('drain', () => this.resume());
  }

  set(fault: ProxyFault): void {
    this.fault = fault;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.move();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
  }

  /** Takes what this side sent; `undefined` is its end. */
  private take(bytes: Buffer | undefined): void {
    if (this.fault.kind === 'blackhole') {
      this.hasLost = true;
      return;
    }
    const dueAt = performance.now() + (this.fault.kind === 'latency' ? this.fault.delayMs : 0);
    this.waiting.push({ bytes, dueAt });
    this.move();
  }

  private move(): void {
    const { fault } = this;
    if (fault.kind === 'stall' || fault.kind === 'half-open' || fault.kind === 'blackhole') return;
    if (fault.kind === 'throttle') {
      this.trickle(fault.bytesPerSecond);
      return;
    }
    for (let first = this.waiting[0]; first; first = this.waiting[0]) {
      const waitMs = fault.kind === 'latency' ? first.dueAt - performance.now() : 0;
      if (waitMs > 0) {
        this.timer ??= setTimeout(() => {
          this.timer = undefined;
          this.move();
        }, waitMs);
        return;
      }
      this.waiting.shift();
      this.pass(first.bytes);
    }
    this.resume();
  }

  /** Resumes reading if nothing waits here and the other side takes bytes. */
  private resume(): void {
    if (this.waiting.length === 0 && !this.to.writableNeedDrain) this.from.resume();
  }

  /** Passes what the time since the last pieces allows: however small these are, and however late a timer is. */
  private trickle(bytesPerSecond: number): void {
    if (this.waiting.length === 0) this.resume();
    if (this.timer !== undefined || this.waiting.length === 0) return;
    const since = performance.now();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.passUpTo(Math.max(1, Math.round(((performance.now() - since) * bytesPerSecond) / 1_000)));
      this.move();
    }, throttleTickMs);
    if (this.waiting.length * pieceLimitBytes > 1024 * 1024) this.from.pause();
  }

  private passUpTo(limit: number): void {
    let room = limit;
    for (let first = this.waiting[0]; first && room > 0; first = this.waiting[0]) {
      const { bytes } = first;
      if (bytes && bytes.length > room) {
        first.bytes = bytes.subarray(room);
        this.pass(bytes.subarray(0, room));
        return;
      }
      this.waiting.shift();
      this.pass(bytes);
      room -= bytes?.length ?? 0;
    }
  }

  private pass(bytes: Buffer | undefined): void {
    if (this.to.destroyed) return;
    if (bytes === undefined) {
      this.to.end();
      return;
    }
    if (!this.to.write(bytes)) this.from.pause();
    this.onPassed(bytes.length);
  }
}
