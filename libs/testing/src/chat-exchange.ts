import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Json, JsonObject } from '@sluice/canonical';

/** A call as the fake server received it. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

/** A tool call for a script to make. */
export interface ScriptedToolCall {
  /** Counted from 0 within one answer. */
  index: number;
  id: string;
  name: string;
  /** Fragments of the JSON text; each becomes a chunk of its own in a stream. */
  arguments: readonly string[];
}

/**
 * One call to the fake model server, answered step by step. A script waits for what the test does, never for time to
 * pass. The caller decides whether the answer is a stream or one body; the script does not.
 */
export class ChatExchange {
  readonly request: RecordedRequest;
  /** Resolves when the answer is complete or the caller's socket is gone. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;
  readonly #isStream: boolean;
  #text = '';
  readonly #toolCalls: JsonObject[] = [];

  constructor(request: RecordedRequest, response: ServerResponse) {
    this.request = request;
    this.#response = response;
    this.#isStream = request.body.stream === true;
    this.closed = once(response, 'close').then(() => undefined);
  }

  /** True if the caller left before the answer was complete. */
  get wasAborted(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Sends one chunk of text. Resolves when it is written or the caller is gone. */
  async text(text: string): Promise<void> {
    this.#text += text;
    await this.#chunk({ content: text });
  }

  /** Sends one chunk of visible thinking, in the field that open-weight servers use. */
  async reasoning(text: string): Promise<void> {
    await this.#chunk({ reasoning_content: text });
  }

  async toolCall({ index, id, name, arguments: fragments }: ScriptedToolCall): Promise<void> {
    this.#toolCalls.push({ id, type: 'function', function: { name, arguments: fragments.join('') } });
    await this.#chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const fragment of fragments) {
      await this.#chunk({ tool_calls: [{ index, function: { arguments: fragment } }] });
    }
  }

  /** Ends the answer as a well-behaved server does. Without `usage`, the answer reports none. */
  async finish(reason: string, usage?: JsonObject): Promise<void> {
    if (!this.#isStream) {
      this.#response.setHeader('content-type', 'application/json');
      this.#response.end(JSON.stringify(this.#body(reason, usage)));
      return this.closed;
    }
    await this.#chunk({}, reason);
    if (usage !== undefined)
      await this.raw(`data: ${JSON.stringify({ ...this.#envelope(), choices: [], usage })}\n\n`);
    await this.raw('data: [DONE]\n\n');
    this.#response.end();
    await this.closed;
  }

  /** Answers with a status and a body instead of a generation. A string is sent as it is. */
  async fail(status: number, body: Json, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const isText = typeof body === 'string';
    const contentType = isText ? 'text/plain' : 'application/json';
    this.#response.writeHead(status, { 'content-type': contentType, ...headers });
    this.#response.end(isText ? body : JSON.stringify(body));
    await this.closed;
  }

  /** Writes any text into the stream, valid or not. */
  async raw(text: string): Promise<void> {
    if (this.#response.destroyed) return;
    if (!this.#response.headersSent) this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    await new Promise<void>((resolve) => {
      this.#response.write(text, () => resolve());
    });
  }

  /** Closes the stream cleanly in mid-answer: no finish reason, no end marker. */
  async end(): Promise<void> {
    this.#response.end();
    await this.closed;
  }

  /** Breaks the connection. */
  cut(): void {
    this.#response.destroy();
  }

  async #chunk(delta: JsonObject, finishReason: string | null = null): Promise<void> {
    if (!this.#isStream) return;
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    await this.raw(`data: ${JSON.stringify({ ...this.#envelope(), choices })}\n\n`);
  }

  #envelope(): JsonObject {
    const model = this.request.body.model ?? null;
    return { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1, model };
  }

  #body(reason: string, usage: JsonObject | undefined): JsonObject {
    const hasCalls = this.#toolCalls.length > 0;
    const message: JsonObject = {
      role: 'assistant',
      content: this.#text === '' && hasCalls ? null : this.#text,
      ...(hasCalls ? { tool_calls: this.#toolCalls } : {}),
    };
    const choices = [{ index: 0, message, finish_reason: reason }];
    return { ...this.#envelope(), object: 'chat.completion', choices, ...(usage ? { usage } : {}) };
  }
}
