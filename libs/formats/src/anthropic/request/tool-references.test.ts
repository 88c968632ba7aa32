import type { JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { gemini } from '../../gemini/index.ts';
import { openai } from '../../openai/index.ts';
import { anthropic } from '../index.ts';

const schema = { type: 'object', properties: { url: { type: 'string' } } };
const search = { name: 'ToolSearch', input_schema: { type: 'object' } };
const fetching = { name: 'WebFetch', description: 'Fetches', input_schema: schema, defer_loading: true };
const other = { name: 'Other', input_schema: schema, defer_loading: true };
const found = {
  type: 'tool_result',
  tool_use_id: 'c',
  content: [{ type: 'tool_reference', tool_name: 'WebFetch', cache_control: { type: 'ephemeral' } }],
};
const messages = [
  { role: 'user', content: 'Fetch it' },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'c', name: 'ToolSearch', input: { query: 'fetch' } }],
  },
  { role: 'user', content: [found] },
];

function encodeFor({ client }: Pick<typeof openai, 'client'>, turns: JsonObject[] = messages): JsonObject {
  const body = { model: 'm', max_tokens: 9, tools: [search, other, fetching], messages: turns };
  const { request } = anthropic.server.decodeRequest({
    path: '/v1/messages',
    query: {},
    headers: {},
    body,
    requestId: 'r',
  });
  const target = { model: 'm', stream: true, clientFormat: 'anthropic', maxOutputTokens: 9 } as const;
  return client.encodeRequest(request, target).body;
}

describe('a tool that a search has found', () => {
  test('is a tool like others for servers that cannot search, and the finding is told in words', () => {
    const says = 'The tool WebFetch can be called now.';
    const chat = encodeFor(openai);
    expect(chat.tools).toMatchObject([
      { function: { name: 'ToolSearch' } },
      { function: { name: 'WebFetch', description: 'Fetches', parameters: schema } },
    ]);
    expect(chat.messages).toMatchObject([{}, {}, { role: 'tool', content: says }]);
    const generation = encodeFor(gemini);
    expect(generation.tools).toMatchObject([
      { functionDeclarations: [{ name: 'ToolSearch' }, { name: 'WebFetch' }] },
    ]);
    expect(generation.contents).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { name: 'ToolSearch', response: { output: says } } }] },
    ]);
  });

  test('stays as it is for servers that can', () => {
    const body = encodeFor(anthropic);
    expect(body.messages).toMatchObject([{}, {}, { role: 'user', content: [found] }]);
    expect(body.tools).toEqual(expect.arrayContaining([search, fetching, other]));
  });

  test('is hidden from servers that cannot search until it is found', () => {
    expect(encodeFor(openai, messages.slice(0, 1)).tools).toMatchObject([
      { function: { name: 'ToolSearch' } },
    ]);
  });

  test('is found by the results of calls alone, and by names', () => {
    const user = { role: 'user', content: [{ type: 'text', text: 'The tool Other', tool_name: 'Other' }] };
    const odd = { ...found, content: [{ type: 'tool_reference' }] };
    const turns = [user, ...messages.slice(1, 2), { role: 'user', content: [odd] }];
    expect(encodeFor(openai, turns).tools).toHaveLength(1);
    expect(encodeFor(anthropic, turns).messages).toMatchObject([{}, {}, { content: [odd] }]);
  });
});
