import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../index.ts';

const claudes = `EqQBCgIYAhIM${'AbC+/9xZ'.repeat(20)}==`;
const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature });
const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const step = (...content: JsonObject[]) => ({ role: 'assistant', content });
const results = (...ids: string[]) => ({
  role: 'user',
  content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
});
const user = { role: 'user', content: 'Hi' };
const thinking = { type: 'enabled', budget_tokens: 1024 };

/** What a server of this model gets of a conversation that a client of messages has. */
function sent(model: string, messages: Json[], asked: JsonObject = thinking): JsonObject {
  const body = { model, max_tokens: 2048, thinking: asked, messages };
  const wire = { path: '/v1/messages', query: {}, headers: {}, body, requestId: 'r' };
  const { request } = anthropic.server.decodeRequest(wire);
  const target = { model, stream: true, clientFormat: 'anthropic', maxOutputTokens: 2048 } as const;
  return anthropic.client.encodeRequest(request, target).body;
}

describe('a budget of thinking', () => {
  const claude = 'claude-sonnet-4-5';

  test('is not given as long as Claude goes on from the step of another model', () => {
    const begun = [user, step(call('call_1')), results('call_1'), step(call('toolu_1')), results('toolu_1')];
    expect(sent(claude, begun)).not.toHaveProperty('thinking');
    const reminded = {
      ...results('toolu_1'),
      content: [...results('toolu_1').content, { type: 'text', text: 'Go.' }],
    };
    expect(sent(claude, [...begun.slice(0, -1), reminded])).not.toHaveProperty('thinking');
    expect(sent(claude, [...begun, step({ type: 'text', text: 'Well' }), user])).toHaveProperty(
      'thinking',
      thinking,
    );
  });

  test('is not given in a step that goes on from thinking that another model signed', () => {
    const foreign = step(thought('a1b2c3d4'.repeat(8)), call('call_1'));
    expect(sent(claude, [user, foreign, results('call_1')])).not.toHaveProperty('thinking');
  });

  test('is not given instead of adaptive thinking in a step that began without a thought', () => {
    const adaptive = { type: 'adaptive' };
    const begun = [user, step(call('toolu_1')), results('toolu_1')];
    expect(sent(claude, begun, adaptive)).not.toHaveProperty('thinking');
    expect(sent('claude-opus-4-8', begun, adaptive)).toMatchObject({ thinking: adaptive });
    expect(sent(claude, begun)).toHaveProperty('thinking', thinking);
    const thoughtful = [user, step(thought(claudes), call('toolu_1')), ...begun.slice(2)];
    const later = [...thoughtful, step(call('toolu_2')), results('toolu_2')];
    expect(sent(claude, later, adaptive)).toMatchObject({ thinking: { type: 'enabled' } });
  });

  test('is given where Claude thought first and called twice', () => {
    const own = [
      user,
      step(thought(claudes), call('toolu_1')),
      results('toolu_1'),
      step(call('toolu_2')),
      results('toolu_2'),
    ];
    expect(sent(claude, own)).toHaveProperty('thinking', thinking);
    const sealed = [user, step({ type: 'redacted_thinking', data: 'x' }, call('toolu_1')), ...own.slice(2)];
    expect(sent(claude, sealed)).toHaveProperty('thinking', thinking);
  });
});
