import { importLibrary, importResponseParser } from './checkout.ts';
import type { Subject } from './subject.ts';

type Formats = typeof import('@sluice/formats');

const tokens = 1000;
const context = { id: 'abc123', createdAt: 1_700_000_000_000, model: 'model' };
const bodies: Readonly<Record<string, { path: string; body: object }>> = {
  openai: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'hello' }] } },
  anthropic: {
    path: '/v1/messages',
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  },
  gemini: {
    path: '/v1beta/models/model:streamGenerateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  },
};

/** A text delta as a chunk of each format. */
export const encoders: readonly Subject[] = Object.entries(bodies).map(([format, { path, body }]) => ({
  name: `encode ${format}`,
  unit: 'token',
  async open(root) {
    const { formats } = await importLibrary<Formats>(root, 'formats');
    const server = formats.find((each) => each.server.format === format)?.server;
    if (!server) throw new Error(`there is no format ${format}`);
    const { call } = server.decodeRequest({
      path,
      headers: {},
      query: { alt: 'sse' },
      body: { model: 'model', stream: true, ...body },
      requestId: context.id,
    });
    let length = 0;
    return {
      operations: tokens,
      batch() {
        const encoder = server.createStreamEncoder(call);
        encoder.push({ type: 'start', ...context }, 0);
        for (let at = 0; at < tokens; at++) {
          length += encoder.push({ type: 'text-delta', block: 0, text: ` word${at}`, tokens: 1 }, 0).length;
        }
      },
      facts: () => (length > 0 ? {} : { nothing: 1 }),
    };
  },
}));

/** A chunk of an upstream's HTTP, each in a read of its own. */
export const chunks: Subject = {
  name: 'http chunk',
  unit: 'token',
  async open(root) {
    const ResponseParser = await importResponseParser(root);
    let bytes = 0;
    const parser = new ResponseParser({
      head: () => undefined,
      body: (_, start, end) => {
        bytes += end - start;
      },
      end: () => undefined,
    });
    const head = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    parser.push(head, head.length);
    const chunk = Buffer.from(`b0\r\n${'x'.repeat(0xb0)}\r\n`);
    return {
      operations: tokens,
      batch() {
        for (let at = 0; at < tokens; at++) parser.push(chunk, chunk.length);
      },
      facts: () => (bytes > 0 ? {} : { nothing: 1 }),
    };
  },
};

/** A chunk of an upstream, each in a read of its own, as a text delta. */
export const decoder: Subject = {
  name: 'decode openai',
  unit: 'token',
  async open(root) {
    const { findClientCodec, SseParser } = await importLibrary<Formats>(root, 'formats');
    const codec = findClientCodec('openai');
    if (!codec) throw new Error('there is no codec for chat completions');
    const chunk = (delta: object) =>
      Buffer.from(
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] })}\n\n`,
      );
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'model' };
    const chunks = Array.from({ length: tokens }, (_, at) => chunk({ content: ` word${at}` }));
    const start = chunk({ role: 'assistant', content: '' });
    return {
      operations: tokens,
      batch() {
        const parser = new SseParser();
        const reader = codec.createStreamDecoder(context);
        for (const piece of [start, ...chunks]) {
          for (const message of parser.push(piece)) reader.push(message);
        }
      },
    };
  },
};
