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
function sent(model: string, messages: Json[]): JsonObject {
  const body = { model, max_tokens: 2048, thinking, messages };
  const wire = { path: '/v1/messages', query: {}, headers: {}, body, requestId: 'r' };
  const { request } = anthropic.server.decodeRequest(wire);
  const target = { model, stream: true, clientFormat: 'anthropic', maxOutputTokens: 2048 } as const;
  return anthropic.client.encodeRequest(request, target).body;
}

describe('thinking that another server signed', () => {
  test.each([
    ['an id (DeepSeek)', '91cfbb94-554b-4136-8e21-fa02280d56ed'],
    ['a hash (MiniMax)', 'a1b2c3d4'.repeat(8)],
  ])('with %s is not sent to Claude, which refuses it', (_what, signature) => {
    const history = (...signed: JsonObject[]) => [
      user,
      step(...signed, { type: 'text', text: 'Well' }),
      user,
    ];
    expect(sent('claude-sonnet-4-5', history(thought(signature))).messages).toEqual([
      user,
      { role: 'assistant', content: 'Well' },
      user,
    ]);
    const own = history(thought(claudes));
    expect(sent('claude-sonnet-4-5', own).messages).toEqual(own);
    const others = history(thought(signature));
    expect(sent('deepseek-chat', others).messages).toEqual(others);
  });
});

describe('a signature that a server refuses', () => {
  const refusalAt = (turn: number) =>
    `messages.${turn}.content.0: Invalid \`signature\` in \`thinking\` block`;
  const amended = (messages: Json[], refusal: string) =>
    anthropic.client.servers.amend?.({ thinking, messages }, refusal);
  const past = [user, step(thought('a'), { type: 'text', text: 'Well' }), step(thought('b')), user];
  const now = [step(thought('c'), call('toolu_1')), results('toolu_1')];

  test('takes the thinking of the past along, if it is there', () => {
    const messages = [user, step({ type: 'text', text: 'Well' }), user, ...now];
    expect(amended([...past, ...now], refusalAt(1))).toEqual({ thinking, messages });
    expect(amended(messages, refusalAt(1))).toBeUndefined();
  });

  test('takes all thinking along otherwise, and the budget in a step that goes on without it', () => {
    const messages = [
      user,
      step({ type: 'text', text: 'Well' }),
      user,
      step(call('toolu_1')),
      results('toolu_1'),
    ];
    expect(amended([...past, ...now], refusalAt(4))).toEqual({ messages });
    expect(amended([...past, ...now], 'invalid params, invalid thinking signature')).toEqual({ messages });
    expect(amended(past, 'invalid params, invalid thinking signature')).toEqual({
      thinking,
      messages: messages.slice(0, 3),
    });
  });

  test('is nothing else', () => {
    expect(amended([...past, ...now], 'max_tokens: Field required')).toBeUndefined();
  });
});
