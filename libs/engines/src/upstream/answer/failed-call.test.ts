import { afterEach, beforeEach, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';

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

/** An answer of these messages that ends with Gemini's word. */
function answer(
  message: Record<string, string>,
  word = 'function_call_filter: MALFORMED_FUNCTION_CALL',
): void {
  server.answer = (response) => {
    response.setHeader('content-type', 'application/json');
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: word }];
    response.end(JSON.stringify({ id: 'c', choices, usage: { prompt_tokens: 7, completion_tokens: 3 } }));
  };
}

it('is reported to a client that would take it for an answer, with what it cost', async () => {
  for (const message of [{ content: '' }, { content: '', reasoning_content: 'Hm.' }]) {
    answer(message);
    for (const clientFormat of ['openai', 'anthropic']) {
      const events = await runOf(engine, askFor('hi'), { clientFormat });
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'upstream-failed' },
        usage: { inputTokens: 7, outputTokens: 3 },
      });
    }
  }
});

it('is told to a client of generate content in the word that it knows', async () => {
  answer({ content: '' });
  const events = await runOf(engine, askFor('hi'), { clientFormat: 'gemini' });
  expect(events.at(-1)).toMatchObject({ type: 'finish', rawReason: 'MALFORMED_FUNCTION_CALL' });
});

it('ends an answer that says something, as every other word does', async () => {
  answer({ content: 'Well' });
  const said = await runOf(engine, askFor('hi'), { clientFormat: 'openai' });
  expect(textOf(said)).toBe('Well');
  expect(said.at(-1)).toMatchObject({ type: 'finish', reason: 'other' });
  answer({ content: '' }, 'stop');
  const silent = await runOf(engine, askFor('hi'), { clientFormat: 'openai' });
  expect(silent.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
});
