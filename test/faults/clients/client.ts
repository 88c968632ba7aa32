import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Observation, TransportEnd } from '../observation.ts';
import { type ClientBehaviour, promptOf, type RequestPlan } from '../plan.ts';
import { readAnswer } from './answer-reader.ts';
import { bodyOf, pathOf } from './request-body.ts';

export interface ClientOptions {
  port: number;
  apiKey: string;
  /** After this the client gives up: the gateway should have answered long before. */
  patienceMs: number;
  /** Called with each piece of the body as it arrives. */
  onPiece?(piece: Buffer): void;
}

/** Sends one request over a connection of its own, behaves as planned, and returns all that it saw. Never rejects. */
export async function observeRequest(plan: RequestPlan, options: ClientOptions): Promise<Observation> {
  const startedAt = Date.now();
  const exchange = new ClientExchange(plan, options);
  const end = await exchange.run();
  const body = Buffer.concat(exchange.pieces).toString('utf8');
  const { status, requestId, standIn, arrivedAt } = exchange;
  return {
    plan,
    startedAt,
    endedAt: Date.now(),
    ...(status !== undefined && { status }),
    ...(requestId !== undefined && { requestId }),
    ...(standIn !== undefined && { standIn }),
    arrivedAt,
    body,
    answer: readAnswer(
      plan.format,
      plan.isStream,
      status ?? 0,
      end === 'clean' || status === 200 ? body : '',
    ),
    end,
  };
}

class ClientExchange {
  status: number | undefined;
  requestId: string | undefined;
  standIn: string | undefined;
  readonly pieces: Buffer[] = [];
  readonly arrivedAt: number[] = [];
  private received = 0;
  private end: (end: TransportEnd) => void = () => undefined;
  private readonly plan: RequestPlan;
  private readonly options: ClientOptions;

  constructor(plan: RequestPlan, options: ClientOptions) {
    this.plan = plan;
    this.options = options;
  }

  async run(): Promise<TransportEnd> {
    const { port, apiKey, patienceMs } = this.options;
    const { client } = this.plan;
    const body = Buffer.from(JSON.stringify(bodyOf(this.plan, promptOf(this.plan))));
    const ended = new Promise<TransportEnd>((resolve) => {
      this.end = resolve;
    });
    const http = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: pathOf(this.plan),
      agent: false,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'content-length': body.length,
        connection: 'close',
      },
    });
    const patience = setTimeout(() => this.leave(http, 'hung'), patienceMs);
    http.on('error', () => this.end(this.status === undefined ? 'refused' : 'cut'));
    http.on('response', (response) => this.read(http, response));
    if (client.kind === 'leaves-early') setTimeout(() => this.leave(http, 'left'), client.afterMs);
    void this.write(http, body, client);
    const end = await ended;
    clearTimeout(patience);
    http.destroy();
    return end;
  }

  private async write(http: ClientRequest, body: Buffer, client: ClientBehaviour): Promise<void> {
    if (client.kind !== 'writes-bytewise') {
      http.end(body);
      return;
    }
    http.setNoDelay(true);
    for (const byte of body) {
      http.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    http.end();
  }

  private read(http: ClientRequest, response: IncomingMessage): void {
    this.status = response.statusCode;
    const { 'x-request-id': id, 'x-sluice-model': standIn } = response.headers;
    if (typeof id === 'string') this.requestId = id;
    if (typeof standIn === 'string') this.standIn = standIn;
    response.on('end', () => this.end(response.complete ? 'clean' : 'cut'));
    response.on('error', () => this.end('cut'));
    response.on('close', () => this.end(response.complete ? 'clean' : 'cut'));
    const { client } = this.plan;
    if (client.kind === 'reads-slowly') void this.readSlowly(http, response, client);
    else response.on('data', (piece: Buffer) => this.take(http, piece));
  }

  private async readSlowly(
    http: ClientRequest,
    response: IncomingMessage,
    { bytesPerSecond, forMs, leaves = false }: Extract<ClientBehaviour, { kind: 'reads-slowly' }>,
  ): Promise<void> {
    const tickMs = 100;
    const bytes = Math.ceil((bytesPerSecond * tickMs) / 1_000);
    for (let passedMs = 0; passedMs < forMs && !response.readableEnded; passedMs += tickMs) {
      const piece: Buffer | null = response.read(bytes);
      if (piece) this.take(http, piece);
      await sleep(tickMs);
    }
    if (leaves) this.leave(http, 'left');
    response.on('data', (piece: Buffer) => this.take(http, piece));
  }

  private take(http: ClientRequest, piece: Buffer): void {
    this.pieces.push(piece);
    this.arrivedAt.push(Date.now());
    this.received += piece.length;
    this.options.onPiece?.(piece);
    const { client } = this.plan;
    if (client.kind === 'leaves' && this.received >= client.afterBytes) this.leave(http, 'left');
  }

  private leave(http: ClientRequest, end: TransportEnd): void {
    this.end(end);
    http.destroy();
  }
}
