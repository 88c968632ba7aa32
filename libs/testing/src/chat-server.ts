import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { JsonObject } from '@sluice/canonical';
import { ChatExchange, type RecordedRequest } from './chat-exchange.ts';

/** Plays one answer. A script that rejects, or returns before it has ended the answer, cuts the connection. */
export type ChatScript = (exchange: ChatExchange) => void | Promise<void>;

/** What the fake server lists and says, and where it listens. */
export interface ChatServerOptions {
  /** What `GET /v1/models` lists: names, or objects with more fields. Default: `['fake-model']`. */
  models?: readonly (string | { id: string; [field: string]: unknown })[];
  /** Answers calls until `answerWith` replaces it. Default: the text "Hello there." and `stop`. */
  script?: ChatScript;
  /** The port to listen on. Default: a free one. */
  port?: number;
}

/** A third party's model server: real HTTP, scripted by the test. */
export interface ChatServer {
  /** With `/v1`, as an upstream is configured. */
  readonly baseUrl: string;
  /** All calls, in order of arrival. */
  readonly exchanges: readonly ChatExchange[];
  /** Replaces the script for later calls. */
  answerWith(script: ChatScript): void;
  /** Resolves with the call of this number, counted from 1, as soon as it has arrived. */
  arrival(count: number): Promise<ChatExchange>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a chat-completions server on 127.0.0.1. */
export async function startChatServer(options: ChatServerOptions = {}): Promise<ChatServer> {
  const models = options.models ?? ['fake-model'];
  const exchanges: ChatExchange[] = [];
  const waiting: { count: number; resolve: (exchange: ChatExchange) => void }[] = [];
  let script = options.script ?? sayHello;

  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    const request = await record(message);
    if (request.path === '/v1/models') return sendModels(response, models);
    const exchange = new ChatExchange(request, response);
    exchanges.push(exchange);
    for (const { count, resolve } of waiting) {
      if (count === exchanges.length) resolve(exchange);
    }
    await script(exchange);
    if (!response.writableEnded) exchange.cut();
  };
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');

  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    exchanges,
    answerWith(next) {
      script = next;
    },
    arrival(count) {
      const exchange = exchanges[count - 1];
      return exchange
        ? Promise.resolve(exchange)
        : new Promise((resolve) => waiting.push({ count, resolve }));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function sayHello(exchange: ChatExchange): Promise<void> {
  await exchange.text('Hello ');
  await exchange.text('there.');
  await exchange.finish('stop', { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
}

function sendModels(response: ServerResponse, models: NonNullable<ChatServerOptions['models']>): void {
  response.setHeader('content-type', 'application/json');
  const data = models.map((model) => ({
    object: 'model',
    created: 1,
    owned_by: 'fake',
    ...(typeof model === 'string' ? { id: model } : model),
  }));
  response.end(JSON.stringify({ object: 'list', data }));
}

async function record(message: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const body: JsonObject = text === '' ? {} : JSON.parse(text);
  return { method: message.method ?? '', path: message.url ?? '', headers: message.headers, body };
}
