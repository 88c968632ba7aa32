import { collect, findGrammarError, type InferenceRequest, type Message } from '@sluice/canonical';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { referenceText } from '../../simulated/reference.ts';
import { askFor, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';

let server: ChatServer;
const engines: UpstreamEngine[] = [];

function create(options: object): UpstreamEngine {
  const engine = createUpstreamEngine(
    upstreamOptions.parse({ baseUrl: server.baseUrl, ...options }),
    quietServices,
  );
  engines.push(engine);
  return engine;
}

beforeEach(async () => {
  server = await ChatServer.open();
});
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  await server.close();
});

const order = '[[sim tokens=20 seed=3 ttft=0 gap=0]]';

/** A request whose answer begins with these words. */
function begun(content: Message['content'], rest: Partial<InferenceRequest> = {}): InferenceRequest {
  const request = askFor(order, rest);
  const turn = { role: 'assistant', content } as Message;
  return { ...request, messages: [...request.messages, turn], prefill: { path: 'messages[1]' } };
}

const text = (said: string) => ({ type: 'text' as const, text: said });

describe('an answer that the client has begun', () => {
  it('is continued by a server that is asked to', async () => {
    const content = [text(referenceText(3, 0, 2)), text(referenceText(3, 2, 3))];
    const events = await runOf(create({ resume: 'prefix' }), begun(content));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(referenceText(3, 5, 15));
    expect(server.seen[0]?.body).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
      messages: [{ role: 'user' }, { role: 'assistant', content: referenceText(3, 0, 5) }],
    });
  });

  it('continues after what was delivered when it was lost', async () => {
    const resume = { content: [text(referenceText(3, 5, 4))], outputTokens: 4 };
    const events = await runOf(create({ resume: 'prefix' }), begun([text(referenceText(3, 0, 5))]), {
      resume,
    });
    expect(textOf(events)).toBe(referenceText(3, 9, 11));
    expect(server.seen[0]?.body.messages).toEqual([
      { role: 'user', content: order },
      { role: 'assistant', content: referenceText(3, 0, 9) },
    ]);
  });

  it('is left to a server of messages, which continues by itself', async () => {
    server.answer = (response) => response.writeHead(500).end();
    const call = { type: 'tool-call' as const, id: 'c', name: 'f', arguments: '{}' };
    const baseUrl = server.baseUrl.replace('/v1', '');
    const tools = [{ type: 'function' as const, name: 'f', parameters: { type: 'object' } }];
    const engine = create({ dialect: 'anthropic', baseUrl });
    await runOf(engine, begun([text('{')], { tools }));
    await runOf(engine, begun([call], { tools }));
    expect(server.seen.map(({ body }) => body.messages)).toMatchObject([
      [{ role: 'user' }, { role: 'assistant', content: '{' }],
      [{ role: 'user' }, { role: 'assistant', content: [{ type: 'tool_use' }] }],
    ]);
  });

  const tools = [{ type: 'function' as const, name: 'f', parameters: { type: 'object' } }];
  it.each<[string, object, InferenceRequest]>([
    ['by a server that answers afresh', {}, begun([text('{')])],
    ['by a server of generate content', { dialect: 'gemini' }, begun([text('{')])],
    ['with tools', { resume: 'prefix' }, begun([text('{')], { tools })],
    ['in JSON', { resume: 'prefix' }, begun([text('{')], { output: { type: 'json' } })],
    ['while it thinks', { resume: 'prefix' }, begun([text('{')], { reasoning: { effort: 'high' } })],
    ['with a call', { resume: 'prefix' }, begun([{ type: 'tool-call', id: 'c', name: 'f', arguments: '' }])],
  ])('is refused with its path if it cannot be continued: %s', async (_why, options, request) => {
    expect(await runOf(create(options), request)).toMatchObject([
      {
        type: 'error',
        error: {
          kind: 'invalid-request',
          param: 'messages[1]',
          message: expect.stringContaining('messages[1]: '),
        },
      },
    ]);
    expect(server.seen).toHaveLength(0);
  });

  it('is not what a last turn of other clients means: it is answered as usual', async () => {
    const { prefill: _none, ...request } = begun([text('It begins.')]);
    const events = await runOf(create({ resume: 'prefix' }), request);
    expect(collect(events).finish.reason).toBe('stop');
    expect(server.seen[0]?.body).not.toHaveProperty('continue_final_message');
  });
});
