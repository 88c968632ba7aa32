import { Client, type Dispatcher } from 'undici';

/** The call that a connection is wanted for. */
interface Waiting {
  request: Dispatcher.DispatchOptions;
  handler: Dispatcher.DispatchHandler;
}

/**
 * Connections to one origin, each for one answer at a time.
 *
 * The free ones are a stack: undici's own pool looks through all that are busy, which cost 50 µs per request beside
 * 5,000 open streams (`npm run bench -- --only idle`).
 */
export class Connections {
  private readonly origin: string;
  private readonly options: Client.Options;
  private readonly limit: number;
  private readonly all: Client[] = [];
  private readonly free: Client[] = [];
  private readonly isFree = new Set<Client>();
  /** Calls beyond the limit, in order. */
  private readonly waiting: Waiting[] = [];

  /** `limit` is the number of connections beyond which calls wait for one. */
  constructor(origin: string, limit: number, options: Client.Options) {
    this.origin = origin;
    this.limit = limit;
    this.options = { ...options, pipelining: 1 };
  }

  /** Sends a request over a free connection, the one used last first; opens one where none is free. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const client = this.take() ?? this.open();
    if (client) this.send(client, { request, handler });
    else this.waiting.push({ request, handler });
  }

  /** Ends everything; what is under way or waits is told so by its handler. */
  async destroy(): Promise<void> {
    const ended = this.all.map((client) => client.destroy());
    const [any] = this.all;
    for (const { request, handler } of this.waiting.splice(0)) any?.dispatch(request, handler);
    await Promise.all(ended);
  }

  private take(): Client | undefined {
    const client = this.free.pop();
    if (client) this.isFree.delete(client);
    return client;
  }

  private open(): Client | undefined {
    if (this.all.length >= this.limit) return undefined;
    const client = new Client(this.origin, this.options);
    client.on('drain', () => this.release(client));
    this.all.push(client);
    return client;
  }

  private send(client: Client, { request, handler }: Waiting): void {
    let hasRoom = true;
    try {
      // False promises a `drain`; a request that was refused at once leaves the connection as it was.
      hasRoom = client.dispatch(request, handler);
    } finally {
      if (hasRoom) this.release(client);
    }
  }

  private release(client: Client): void {
    // A `drain` may come late, when the connection has its next call.
    if (client.destroyed || this.isFree.has(client) || client.stats.size > 0) return;
    const next = this.waiting.shift();
    if (next) {
      this.send(client, next);
      return;
    }
    this.free.push(client);
    this.isFree.add(client);
  }
}
