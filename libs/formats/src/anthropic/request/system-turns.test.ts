import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { gemini } from '../../gemini/index.ts';
import { openai } from '../../openai/index.ts';
import { refusalOf } from '../../test-refusal.ts';
import { anthropic } from '../index.ts';

const decode = (messages: Json[]) => {
  const body = { model: 'm', max_tokens: 10, messages };
  return anthropic.server.decodeRequest({
    path: '/v1/messages',
    query: {},
    headers: {},
    body,
    requestId: 'r',
  });
};
const target = { model: 'm', stream: true, clientFormat: 'anthropic', maxOutputTokens: 10 } as const;

const user = { role: 'user', content: 'Hi' };
const answer = { role: 'assistant', content: 'Well' };
const setting = { role: 'system', content: [], output_config: { effort: 'low' } };
const reminder = (content: string) => ({ role: 'system', content, clear_at: 'next_user_message' });
/** As Claude Code keeps it: a reminder stays in the conversation after the user has spoken again. */
const conversation = [user, setting, reminder('Mind the time.'), answer, user, reminder('Be brief.')];

describe('system turns that a coding tool keeps in the conversation', () => {
  test('reach a server of messages as they are', () => {
    const { request } = decode(conversation);
    expect(anthropic.client.encodeRequest(request, target).body.messages).toEqual(conversation);
    const alone = { role: 'system', output_config: { effort: 'low' } };
    const { request: shorter } = decode([user, alone]);
    expect(anthropic.client.encodeRequest(shorter, target).body.messages).toEqual([user, setting]);
  });

  test('are said to other servers for as long as the model is to see them', () => {
    const { request } = decode(conversation);
    expect(openai.client.encodeRequest(request, target).body.messages).toEqual([
      user,
      answer,
      user,
      { role: 'system', content: 'Be brief.' },
    ]);
    const turn = (role: string, text: string) => ({ role, parts: [{ text }] });
    expect(gemini.client.encodeRequest(request, target).body.contents).toEqual([
      turn('user', 'Hi'),
      turn('model', 'Well'),
      turn('user', 'Hi'),
      turn('user', 'Be brief.'),
    ]);
  });

  test('have to say or set something', () => {
    expect(refusalOf(() => decode([user, { role: 'system' }])).info.param).toBe('messages[1].content');
    expect(refusalOf(() => decode([{ role: 'user', output_config: {} }])).info.param).toBe(
      'messages[0].content',
    );
  });

  test.each([
    ["messages.1.role: Input should be 'user' or 'assistant'", 'user'],
    ['messages.2.clear_at: Extra inputs are not permitted', 'system'],
    ['messages.1.output_config: Extra inputs are not permitted', 'system'],
  ])('are plain for a server that knows no others: %s', (refusal, role) => {
    const said = (body: JsonObject) => anthropic.client.servers.rephrase?.(body, refusal, false);
    const next = said({ messages: conversation });
    expect(next).toEqual({ messages: [user, answer, user, { role, content: 'Be brief.' }] });
    expect(said(next ?? {})).toBeUndefined();
  });
});
