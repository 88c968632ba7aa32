import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type {
  ErrorInfo,
  GenerationEvent,
  InferenceRequest,
  Json,
  Message,
  Resume,
  Tool,
} from '@sluice/canonical';
import { statusOf } from '@sluice/formats';
import { z } from 'zod';
import { SimulatedEngine } from '../simulated/engine.ts';
import { quietServices } from '../test-services.ts';

const toolWire = z.object({
  function: z.object({ name: z.string(), parameters: z.record(z.string(), z.json()) }),
});
const bodyWire = z.object({
  model: z.string(),
  messages: z.array(
    z.object({ role: z.string(), content: z.union([z.string(), z.array(z.object({ text: z.string() }))]) }),
  ),
  max_tokens: z.number().optional(),
  max_completion_tokens: z.number().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  tools: z.array(toolWire).optional(),
  tool_choice: z.literal('required').optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.number().optional(),
  response_format: z
    .object({ json_schema: z.object({ schema: z.record(z.string(), z.json()) }).optional() })
    .optional(),
  continue_final_message: z.boolean().optional(),
});
type BodyWire = z.infer<typeof bodyWire>;

/** A request as the server saw it. */
export interface SeenRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

/** Answers a request instead of the model. */
export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/**
 * A chat-completions server for tests: real sockets with the simulated model behind them. The wire is written by hand,
 * so that it shares no mistake with our own codec. `answer` replaces the model if a test needs a fault.
 */
export class ChatServer {
  readonly seen: SeenRequest[] = [];
  readonly sockets = new Set<Socket>();
  answer: Answer | undefined;
  private readonly server: Server;
  private readonly model = new SimulatedEngine({ slots: 1000, ttftMs: 0, gapMs: 0 }, quietServices);

  private constructor() {
    this.server = createServer((request, response) => void this.receive(request, response));
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  /** Listens on a port that the system chooses, or on a given one to come back to. */
  static async open(port = 0): Promise<ChatServer> {
    const server = new ChatServer();
    await server.model.start();
    await new Promise<void>((resolve) => server.server.listen(port, '127.0.0.1', resolve));
    return server;
  }

  get baseUrl(): string {
    // Safe to cast: a listening TCP server has an address with a port.
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    await this.model.stop();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const seen: SeenRequest = {
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? {} : JSON.parse(text),
    };
    if (request.method === 'GET' && !this.answer) {
      response.setHeader('content-type', 'application/json').end('{"object":"list","data":[]}');
      return;
    }
    this.seen.push(seen);
    if (this.answer) this.answer(response, seen);
    else await this.generate(bodyWire.parse(seen.body), response);
  }

  private async generate(body: BodyWire, response: ServerResponse): Promise<void> {
    const controller = new AbortController();
    response.on('close', () => controller.abort());
    const resume = resumeOf(body);
    const writer = new ChunkWriter(response, resume?.outputTokens ?? 0);
    const emit = (event: GenerationEvent) => writer.write(event);
    await this.model.generate(requestOf(body, resume), {
      id: 'upstream',
      backendModel: body.model,
      signal: controller.signal,
      emit,
      ...(resume && { resume }),
    });
  }
}

function resumeOf(body: BodyWire): Resume | undefined {
  const last = body.messages.at(-1);
  if (!body.continue_final_message || last?.role !== 'assistant') return undefined;
  const text = textOf(last.content);
  return { content: [{ type: 'text', text }], outputTokens: text.split(' ').length };
}

function requestOf(body: BodyWire, resume: Resume | undefined): InferenceRequest {
  const limit = body.max_completion_tokens ?? body.max_tokens;
  const messages = resume ? body.messages.slice(0, -1) : body.messages;
  const schema = body.response_format?.json_schema?.schema;
  return {
    model: body.model,
    messages: messages.map(({ role, content }): Message => {
      const part = { type: 'text' as const, text: textOf(content) };
      return role === 'user' ? { role, content: [part] } : { role: 'assistant', content: [part] };
    }),
    ...(body.tools && {
      tools: body.tools.map(({ function: tool }): Tool => ({ type: 'function', ...tool })),
    }),
    ...(body.tool_choice && { toolChoice: { type: body.tool_choice } }),
    ...(body.logprobs && { logprobs: { alternatives: body.top_logprobs ?? 0 } }),
    ...(body.response_format && { output: { type: 'json', ...(schema && { schema }) } }),
    sampling: {
      ...(limit !== undefined && { maxOutputTokens: limit + (resume?.outputTokens ?? 0) }),
      ...(body.stop !== undefined && { stopSequences: [body.stop].flat() }),
    },
  };
}

function textOf(content: BodyWire['messages'][number]['content']): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}

const finishReasons = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  other: 'stop',
};

/** Writes the dialect as its servers do. */
class ChunkWriter {
  private readonly response: ServerResponse;
  private readonly delivered: number;
  private callIndex = -1;

  constructor(response: ServerResponse, delivered: number) {
    this.response = response;
    this.delivered = delivered;
  }

  write(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        this.delta({ role: 'assistant', content: '' });
        return;
      case 'text-delta':
        this.delta({ content: event.text }, event.logprobs);
        return;
      case 'reasoning-delta':
        this.delta({ reasoning_content: event.text });
        return;
      case 'tool-call-start': {
        this.callIndex += 1;
        const call = {
          index: this.callIndex,
          id: event.id,
          type: 'function',
          function: { name: event.name, arguments: '' },
        };
        this.delta({ tool_calls: [call] });
        return;
      }
      case 'tool-call-delta':
        this.delta({ tool_calls: [{ index: this.callIndex, function: { arguments: event.arguments } }] });
        return;
      case 'finish': {
        const { inputTokens = 0, outputTokens = 0 } = event.usage;
        this.chunk([{ index: 0, delta: {}, finish_reason: finishReasons[event.reason] }]);
        this.chunk([], {
          prompt_tokens: inputTokens + this.delivered,
          completion_tokens: outputTokens - this.delivered,
          total_tokens: inputTokens + outputTokens,
        });
        this.response.end('data: [DONE]\n\n');
        return;
      }
      case 'error':
        this.fail(event.error);
        return;
      default:
        return;
    }
  }

  private fail({ kind, message }: ErrorInfo): void {
    const body = JSON.stringify({ error: { message, type: 'server_error', code: null } });
    if (this.response.headersSent) {
      this.response.end(`data: ${body}\n\n`);
      return;
    }
    this.response.writeHead(statusOf[kind], { 'content-type': 'application/json', 'retry-after': '7' });
    this.response.end(body);
  }

  private delta(delta: object, content?: Json[]): void {
    this.chunk([{ index: 0, delta, ...(content && { logprobs: { content } }), finish_reason: null }]);
  }

  private chunk(choices: object[], usage?: object): void {
    const chunk = {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices,
      ...(usage && { usage }),
    };
    this.response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}
