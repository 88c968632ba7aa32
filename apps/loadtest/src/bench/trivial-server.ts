import { createServer, type Server, type Socket } from 'node:net';

/** Tokens of every stream. */
export const tokensPerStream = 256;

const headEnd = '\r\n\r\n';

/**
 * Does the least work that a server can do: it finds the end of a request and writes a prepared chat-completions
 * answer, a single body or a whole stream at once. It stands for an infinitely fast gateway, so a load against it
 * measures the client. It is fit for nothing else.
 */
export function createTrivialServer(): Server {
  const single = response('application/json', JSON.stringify(answer('ok')));
  const stream = response('text/event-stream; charset=utf-8', streamText());
  return createServer({ noDelay: true }, (socket) => serve(socket, single, stream));
}

function serve(socket: Socket, single: Buffer, stream: Buffer): void {
  let rest = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    rest += bytes.toString('latin1');
    for (;;) {
      const found = rest.indexOf(headEnd);
      if (found < 0) return;
      const length = Number(/content-length: (\d+)/.exec(rest)?.[1] ?? 0);
      const end = found + headEnd.length + length;
      if (rest.length < end) return;
      socket.write(rest.includes('"stream":true') ? stream : single);
      rest = rest.slice(end);
    }
  });
}

function response(contentType: string, body: string): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(head + headEnd + body);
}

function answer(content: string): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'trivial',
    choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
  };
}

function streamText(): string {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'trivial',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    })}\n\n`;
  const tokens = Array.from({ length: tokensPerStream }, (_, at) =>
    chunk({ content: `word${at % 10} ` }, null),
  );
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...tokens,
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ].join('');
}
