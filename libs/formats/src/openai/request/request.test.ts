import type { InferenceRequest } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import type { UpstreamTarget } from '../../codec.ts';
import { refusalOf } from '../../test-refusal.ts';
import { decodeRequest, encodeRequest } from './request.ts';

const target: UpstreamTarget = { model: 'backend', stream: true, maxOutputTokens: 4096 };
const user = { role: 'user', content: 'the secret prompt' };

function decode(body: unknown) {
  return decodeRequest({ path: '/v1/chat/completions', headers: {}, query: {}, requestId: 'r', body });
}

const refusal = (body: unknown) => refusalOf(() => decode(body));

function encode(request: Partial<InferenceRequest>, to = target) {
  return encodeRequest({ model: 'm', messages: [], sampling: {}, ...request }, to);
}

describe('decodeRequest', () => {
  test('null is absent in every field', () => {
    const names = [
      'stream',
      'stream_options',
      'n',
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
    ];
    names.push('frequency_penalty', 'presence_penalty', 'seed', 'stop', 'logprobs', 'top_logprobs', 'tools');
    names.push('tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'response_format');
    names.push('reasoning_effort', 'user', 'metadata', 'logit_bias');
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    const { request, call } = decode({ model: 'm', messages: [user], ...nulls });
    expect(request).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'the secret prompt' }] }],
      sampling: {},
    });
    expect(call).toMatchObject({ stream: false, choices: 1, wire: { includeUsage: false } });
  });

  test('max_completion_tokens wins over max_tokens, and neither is refused for being large', () => {
    const { request } = decode({
      model: 'm',
      messages: [user],
      max_tokens: 5,
      max_completion_tokens: 10_000_000,
    });
    expect(request.sampling.maxOutputTokens).toBe(10_000_000);
  });

  test('a limit of -1, as clients of local servers send it, is none', () => {
    expect(decode({ model: 'm', messages: [user], max_tokens: -1 }).request.sampling).toEqual({});
    const both = { max_completion_tokens: -1, max_tokens: 5 };
    expect(decode({ model: 'm', messages: [user], ...both }).request.sampling).toEqual({
      maxOutputTokens: 5,
    });
  });

  test.each([
    ['not an object', 7, undefined],
    ['no messages', { model: 'm', messages: [] }, 'messages'],
    ['a message that is no object', { model: 'm', messages: [user, 'x'] }, 'messages[1]'],
    ['a user without content', { model: 'm', messages: [{ role: 'user' }] }, 'messages[0].content'],
    [
      'a part without type',
      { model: 'm', messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'messages[0].content[0].type',
    ],
    [
      'a result without its call',
      { model: 'm', messages: [user, { role: 'tool', content: 'x' }] },
      'messages[1].tool_call_id',
    ],
    [
      'a file of nothing',
      { model: 'm', messages: [{ role: 'user', content: [{ type: 'file', file: {} }] }] },
      'messages[0].content[0].file',
    ],
    ['no tokens wanted', { model: 'm', messages: [user], max_tokens: 0 }, 'max_tokens'],
    ['fewer than none wanted', { model: 'm', messages: [user], max_tokens: -2 }, 'max_tokens'],
    ['a stop that is no text', { model: 'm', messages: [user], stop: ['a', 1] }, 'stop[1]'],
    [
      'a function without name',
      { model: 'm', messages: [user], tools: [{ type: 'function', function: {} }] },
      'tools[0].function.name',
    ],
    [
      'a choice without name',
      { model: 'm', messages: [user], tool_choice: { type: 'function' } },
      'tool_choice.function.name',
    ],
    [
      'a schema format without schema',
      { model: 'm', messages: [user], response_format: { type: 'json_schema' } },
      'response_format.json_schema',
    ],
  ])('%s is refused with its path', (_name, body, param) => {
    const { kind, options, message } = refusal(body);
    expect(kind).toBe('invalid-request');
    expect(options.param).toBe(param);
    if (param) expect(message.startsWith(`${param}: `)).toBe(true);
  });

  test('a refusal never repeats what was sent', () => {
    const bodies = [
      { model: 'm', messages: [{ role: 'the secret prompt', content: 'the secret prompt' }] },
      { model: 'm', messages: [user], tool_choice: 'the secret prompt' },
      { model: 'm', messages: [user], temperature: 'the secret prompt' },
      {
        model: 'm',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'the secret prompt' } }] },
        ],
      },
    ];
    for (const body of bodies) expect(refusal(body).message).not.toContain('secret');
  });

  test('a data URL without base64 is carried as base64', () => {
    const url = 'data:image/svg+xml,%3Csvg%2F%3E';
    const { request } = decode({
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });
    const data = Buffer.from('<svg/>').toString('base64');
    expect(request.messages[0]?.content[0]).toEqual({
      type: 'media',
      mediaType: 'image/svg+xml',
      source: { type: 'base64', data },
    });
  });

  test('adjacent results are one turn', () => {
    const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });
    const { request } = decode({ model: 'm', messages: [user, result('a'), result('b'), user, result('c')] });
    expect(request.messages.map(({ role, content }) => [role, content.length])).toEqual([
      ['user', 1],
      ['tool', 2],
      ['user', 1],
      ['tool', 1],
    ]);
  });

  test('thinking is read back under both of its names', () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      const { request } = decode({
        model: 'm',
        messages: [user, { role: 'assistant', content: 'a', [name]: 'hm' }],
      });
      expect(request.messages[1]?.content).toEqual([
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'a' },
      ]);
    }
  });

  test('arguments that came as an object are kept as text', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: { x: 1 } } };
    const { request } = decode({ model: 'm', messages: [user, { role: 'assistant', tool_calls: [call] }] });
    expect(request.messages[1]?.content).toEqual([
      { type: 'tool-call', id: 'a', name: 'f', arguments: '{"x":1}' },
    ]);
  });

  test('values that only some servers know are kept for them', () => {
    const { request } = decode({
      model: 'm',
      messages: [user],
      reasoning_effort: 'default',
      response_format: { type: 'grammar', grammar: 'root' },
      top_k: -1,
    });
    expect(request.reasoning).toBeUndefined();
    expect(encodeRequest(request, target).body).toMatchObject({
      reasoning_effort: 'default',
      response_format: { type: 'grammar', grammar: 'root' },
      top_k: -1,
    });
  });
});

describe('encodeRequest', () => {
  test('asks for usage in a stream, but not in a single body', () => {
    expect(encode({}).body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(encode({}).headers.accept).toBe('text/event-stream');
    const single = encode({}, { ...target, stream: false });
    expect(single.body).not.toHaveProperty('stream');
    expect(single.body).not.toHaveProperty('stream_options');
  });

  test.each([
    ['qwen-7b', 'max_tokens'],
    ['gpt-4o', 'max_tokens'],
    ['gpt-oss-120b', 'max_tokens'],
    ['o3-mini', 'max_completion_tokens'],
    ['gpt-5.2', 'max_completion_tokens'],
    ['openai/gpt-5', 'max_completion_tokens'],
  ])('%s gets its limit as %s', (model, field) => {
    expect(encode({ sampling: { maxOutputTokens: 7 } }, { ...target, model }).body).toHaveProperty(field, 7);
  });

  test('sets no limit if the client set none', () => {
    expect(encode({}).body).not.toHaveProperty('max_tokens');
  });

  test('marks a failed call in its text, and moves its images behind all results', () => {
    const image = {
      type: 'media' as const,
      mediaType: 'image/png',
      source: { type: 'base64' as const, data: 'AA' },
    };
    const { body } = encode({
      messages: [
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'a', content: [{ type: 'text', text: 'seen' }, image] },
            {
              type: 'tool-result',
              toolCallId: 'b',
              isError: true,
              content: [{ type: 'text', text: 'no file' }],
            },
            { type: 'tool-result', toolCallId: 'c', isError: true, content: [] },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'and?' }] },
      ],
    });
    expect(body.messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no file' },
      { role: 'tool', tool_call_id: 'c', content: 'Error' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Output of tool call a:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
        ],
      },
      { role: 'user', content: 'and?' },
    ]);
  });

  test.each([
    [0, 'none'],
    [1024, 'low'],
    [8000, 'medium'],
    [31_999, 'high'],
  ])('a budget of %i tokens becomes %s effort', (budgetTokens, effort) => {
    expect(encode({ reasoning: { budgetTokens } }).body.reasoning_effort).toBe(effort);
  });

  test('gives a schema the name that the dialect demands', () => {
    const { body } = encode({ output: { type: 'json', schema: { type: 'object' } } });
    expect(body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'response', schema: { type: 'object' } },
    });
  });

  test('reports the extensions of other dialects that it drops, one entry for each thing', () => {
    const kept = { extensions: { anthropic: { cache_control: {} } } };
    const { dropped, body } = encode({
      ...kept,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'a', ...kept }] },
        {
          role: 'assistant',
          content: [{ type: 'reasoning', text: 'hm', extensions: { gemini: { sig: 'x' } } }],
        },
      ],
      tools: [{ type: 'function', name: 'f', parameters: {}, ...kept }],
    });
    expect(dropped.toSorted()).toEqual(['anthropic', 'anthropic', 'anthropic', 'gemini']);
    expect(JSON.stringify(body)).not.toContain('cache_control');
  });

  test.each<[string, Partial<InferenceRequest>]>([
    [
      'messages[0].content[0]',
      { messages: [{ role: 'user', content: [{ type: 'opaque', format: 'anthropic', value: {} }] }] },
    ],
    ['tools[0]', { tools: [{ type: 'opaque', format: 'anthropic', value: {} }] }],
    [
      'messages[0].content[1].content[2]',
      {
        messages: [
          {
            role: 'tool',
            content: [
              { type: 'tool-result', toolCallId: 'a', content: [] },
              {
                type: 'tool-result',
                toolCallId: 'b',
                content: [
                  { type: 'media', mediaType: 'image/png', source: { type: 'base64', data: '' } },
                  { type: 'text', text: 'seen' },
                  { type: 'opaque', format: 'anthropic', value: {} },
                ],
              },
            ],
          },
        ],
      },
    ],
    [
      'messages[0].content[0].source',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'media',
                mediaType: 'application/pdf',
                source: { type: 'url', url: 'https://x.test/a' },
              },
            ],
          },
        ],
      },
    ],
    [
      'messages[0].content[0]',
      {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'media', mediaType: 'image/png', source: { type: 'base64', data: '' } }],
          },
        ],
      },
    ],
  ])('what the dialect cannot express is refused at %s', (param, request) => {
    expect(() => encode(request)).toThrow(
      expect.objectContaining({ kind: 'invalid-request', options: { param } }),
    );
  });
});
