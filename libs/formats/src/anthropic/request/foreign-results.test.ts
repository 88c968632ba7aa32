import type { Json } from '@sluice/canonical';
import { expect, test } from 'vitest';
import { gemini } from '../../gemini/index.ts';
import { anthropic } from '../index.ts';

/** The result that a server of messages gets where a client of generate content tells this one of a call. */
function resultOf(response: Json, media: object = {}): Json {
  const call = { id: 'c', name: 'f' };
  const contents = [
    { role: 'user', parts: [{ text: 'Go' }] },
    { role: 'model', parts: [{ functionCall: call }] },
    { role: 'user', parts: [{ functionResponse: { ...call, response, ...media } }] },
  ];
  const path = '/v1beta/models/m:generateContent';
  const { request } = gemini.server.decodeRequest({
    path,
    query: {},
    headers: {},
    body: { contents },
    requestId: 'r',
  });
  const target = { model: 'm', stream: true, clientFormat: 'gemini', maxOutputTokens: 10 } as const;
  const { messages } = anthropic.client.encodeRequest(request, target).body;
  return Array.isArray(messages) ? (messages.at(-1) ?? null) : null;
}

test('a failure without words has one, since servers of messages refuse it otherwise', () => {
  const result = { type: 'tool_result', tool_use_id: 'c' };
  expect(resultOf({ error: ' ' })).toEqual({
    role: 'user',
    content: [{ ...result, content: 'Error', is_error: true }],
  });
  expect(resultOf({ error: 'no such file' })).toEqual({
    role: 'user',
    content: [{ ...result, content: 'no such file', is_error: true }],
  });
  expect(resultOf({ output: '' })).toEqual({ role: 'user', content: [result] });
});

test('a failure tells its media after it, since Claude takes nothing but text in one', () => {
  const media = { parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] };
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
  const image = { type: 'image', source };
  const result = { type: 'tool_result', tool_use_id: 'c' };
  const label = { type: 'text', text: 'Output of tool call c:' };
  expect(resultOf({ error: 'blurred' }, media)).toEqual({
    role: 'user',
    content: [{ ...result, content: 'blurred', is_error: true }, label, image],
  });
  expect(resultOf({ error: '' }, media)).toEqual({
    role: 'user',
    content: [{ ...result, content: 'Error', is_error: true }, label, image],
  });
  expect(resultOf({ output: 'clear' }, media)).toEqual({
    role: 'user',
    content: [{ ...result, content: [{ type: 'text', text: 'clear' }, image] }],
  });
});
