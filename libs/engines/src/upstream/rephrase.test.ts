import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { ChatServer } from './chat-server.ts';
import { createUpstreamEngine, type UpstreamEngine } from './engine.ts';
import { upstreamOptions } from './options.ts';

let server: ChatServer;
let engine: UpstreamEngine;

beforeEach(async () => {
  server = await ChatServer.open();
  engine = createUpstreamEngine(upstreamOptions.parse({ baseUrl: server.baseUrl }), quietServices);
});
afterEach(async () => {
  await engine.stop();
  await server.close();
});

/** A server that refuses each of these fields in these words, and answers what has none of them. */
function refuse(fields: Record<string, string>): void {
  server.answer = (response, { body }) => {
    response.setHeader('content-type', 'application/json');
    const found = Object.keys(fields).find((field) => field in body);
    const message = found && fields[found];
    if (message) {
      response.writeHead(400).end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
      return;
    }
    const choice = { index: 0, message: { role: 'assistant', content: 'taken' }, finish_reason: 'stop' };
    response.end(JSON.stringify({ id: 'c', choices: [choice] }));
  };
}

const words = {
  stream_options: 'Unrecognized request argument supplied: stream_options',
  max_tokens:
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
};
const limited = askFor('hi', { sampling: { maxOutputTokens: 50 } });

describe('a server that does not take a word of its dialect', () => {
  it('is asked in another, and from then on at once', async () => {
    refuse(words);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen).toHaveLength(3);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen).toHaveLength(4);
    expect(server.seen[3]?.body).toMatchObject({ stream: true, max_completion_tokens: 50 });
    expect(server.seen[3]?.body).not.toHaveProperty('max_tokens');
    // Another model may be another's.
    await runOf(engine, limited, { backendModel: 'other' });
    expect(server.seen[4]?.body).toHaveProperty('stream_options');
  });

  it('is told apart from one that quotes its client, and which nothing is learned of', async () => {
    refuse({ odd: 'odd: "stream_options" is not allowed' });
    const odd = askFor('hi', { extensions: { openai: { odd: 'stream_options' } } });
    expect(await runOf(engine, odd)).toMatchObject([{ type: 'error', error: { kind: 'invalid-request' } }]);
    expect(server.seen).toHaveLength(2);
    expect(textOf(await runOf(engine, limited))).toBe('taken');
    expect(server.seen[2]?.body).toHaveProperty('stream_options');
  });

  it('is not asked for ever', async () => {
    server.answer = (response) =>
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: Object.values(words).join() } }));
    expect(await runOf(engine, limited)).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request' } },
    ]);
    expect(server.seen).toHaveLength(3);
  });
});
