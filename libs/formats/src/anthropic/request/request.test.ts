import {
  type ErrorInfo,
  errorInfoOf,
  type InferenceRequest,
  type Json,
  type Message,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../test-refusal.ts';
import { anthropic } from '../index.ts';

const { client, server } = anthropic;
const target = { model: 'claude-opus-5-5', stream: true, maxOutputTokens: 4096 };
const hello: Message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };

function encode(request: Partial<InferenceRequest>, model = target.model) {
  return client.encodeRequest(
    { model: 'm', messages: [hello], sampling: {}, ...request },
    { ...target, model },
  );
}

const refusal = (attempt: () => unknown): ErrorInfo => errorInfoOf(refusalOf(attempt));

function decode(body: object, headers: Record<string, string> = {}) {
  const whole = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }], ...body };
  return server.decodeRequest({ path: '/v1/messages', headers, query: {}, requestId: 'r', body: whole });
}

describe('a request of another dialect', () => {
  test('keeps a later system message in its place as user text', () => {
    const { body } = encode({
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
        hello,
        { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
        {
          role: 'system',
          content: [{ type: 'text', text: 'Be brief.' }],
          extensions: { openai: { role: 'developer' } },
        },
      ],
    });
    expect(body.system).toEqual([{ type: 'text', text: 'Be kind.' }]);
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Be brief.' },
    ]);
  });

  test('has all tool results first in one user turn, with ids that the dialect allows', () => {
    const { body } = encode({
      messages: [
        hello,
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', id: 'call:1', name: 'f', arguments: '{"a":1}' },
            { type: 'tool-call', id: 'call.1', name: 'f', arguments: '' },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'call.1', content: [] }] },
        { role: 'system', content: [{ type: 'text', text: 'Go on.' }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'call:1', content: [{ type: 'text', text: 'x' }] }],
        },
      ],
    });
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
          { type: 'tool_use', id: 'call_1_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1_2' },
          { type: 'tool_result', tool_use_id: 'call_1', content: 'x' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ]);
  });

  test('leaves out blank text, turns of nothing else, and unsigned thinking', () => {
    const { body, dropped } = encode({
      messages: [
        hello,
        { role: 'assistant', content: [{ type: 'reasoning', text: 'hm', extensions: { gemini: { x: 1 } } }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: ' \n' },
            { type: 'text', text: 'Again' },
          ],
        },
      ],
    });
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'user', content: 'Again' },
    ]);
    expect(dropped).toEqual(['gemini']);
  });

  test('gets the model’s limit if it has none, and only the tools that its choice allows', () => {
    const tool = (name: string) => ({ type: 'function' as const, name, parameters: { properties: {} } });
    const { body } = encode({
      tools: [tool('a'), tool('b')],
      toolChoice: { type: 'required', allowed: ['b'] },
    });
    expect(body).toMatchObject({
      max_tokens: 4096,
      tools: [{ name: 'b', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'any' },
    });
  });

  test('asks for JSON without a schema in words, and for a temperature of at most 1', () => {
    const { body } = encode({
      output: { type: 'json' },
      sampling: { temperature: 1.7, seed: 1, frequencyPenalty: 0 },
    });
    expect(body.system).toEqual([
      { type: 'text', text: 'Answer with one valid JSON object and nothing else.' },
    ]);
    expect(body).toMatchObject({ temperature: 1 });
    expect(body).not.toHaveProperty('output_config');
  });

  test.each([
    ['sampling.frequencyPenalty', { sampling: { frequencyPenalty: 1 } }],
    ['sampling.presencePenalty', { sampling: { presencePenalty: -1 } }],
    ['logprobs', { logprobs: { alternatives: 0 } }],
    ['tools[0]', { tools: [{ type: 'opaque', format: 'gemini', value: { googleSearch: {} } }] }],
    ['messages', { messages: [{ role: 'user', content: [] }] }],
    [
      'messages[0].content[1]',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'x' },
              { type: 'media', mediaType: 'audio/wav', source: { type: 'base64', data: '' } },
            ],
          },
        ],
      },
    ],
    [
      'messages[0].content[0]',
      { messages: [{ role: 'user', content: [{ type: 'opaque', format: 'openai', value: {} }] }] },
    ],
  ] satisfies [string, Partial<InferenceRequest>][])('is refused at %s', (param, request) => {
    expect(refusal(() => encode(request))).toMatchObject({ kind: 'invalid-request', param });
  });
});

describe('reasoning', () => {
  test.each([
    ['claude-opus-5-5', { effort: 'high' }, { type: 'adaptive' }, 'high'],
    [
      'claude-opus-5-5',
      { effort: 'minimal', visible: false },
      { type: 'adaptive', display: 'omitted' },
      'low',
    ],
    ['claude-opus-5-5', {}, { type: 'adaptive' }, undefined],
    ['claude-opus-5-5', { effort: 'none' }, { type: 'disabled' }, undefined],
    ['claude-opus-5-5', { budgetTokens: 0 }, { type: 'disabled' }, undefined],
    ['claude-opus-5-5', { budgetTokens: -1 }, { type: 'adaptive' }, undefined],
    ['claude-opus-5-5', { budgetTokens: 512 }, { type: 'enabled', budget_tokens: 1024 }, undefined],
    ['claude-opus-5-5', { budgetTokens: 9000 }, { type: 'enabled', budget_tokens: 4095 }, undefined],
    ['claude-sonnet-4-5-20250929', { effort: 'low' }, { type: 'enabled', budget_tokens: 2048 }, undefined],
    ['claude-opus-4-20250514', { effort: 'max' }, { type: 'enabled', budget_tokens: 2048 }, undefined],
  ] satisfies [string, InferenceRequest['reasoning'], object, string | undefined][])(
    '%s is asked to think: %j',
    (model, reasoning, thinking, effort) => {
      const { body } = encode({ reasoning: reasoning ?? {} }, model);
      expect(body.thinking).toEqual(thinking);
      expect(body.output_config).toEqual(effort === undefined ? undefined : { effort });
    },
  );

  test('gives way to a forced tool call', () => {
    const tools = [{ type: 'function' as const, name: 'f', parameters: {} }];
    const { body } = encode({
      tools,
      toolChoice: { type: 'tool', name: 'f' },
      reasoning: { effort: 'high' },
    });
    expect(body).not.toHaveProperty('thinking');
  });
});

describe('a body', () => {
  test('is read with every version and every beta', () => {
    const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2026-01-01, never-heard-of' };
    const { request, call } = decode({ temperature: 0.5 }, headers);
    expect(request.sampling.temperature).toBe(0.5);
    expect(call.wire).toEqual({ beta: true });
    expect(client.encodeRequest(request, target).headers).toEqual({
      'anthropic-beta': 'a-2026-01-01,never-heard-of',
    });
  });

  test('loses the billing line only as the first text of a list', () => {
    const line = { type: 'text', text: 'x-anthropic-billing-header: cch=1;' };
    expect(decode({ system: [line] }).request.messages).toHaveLength(1);
    expect(
      decode({ system: [{ type: 'text', text: 'Be.' }, line] }).request.messages[0]?.content,
    ).toHaveLength(2);
    expect(decode({ system: line.text }).request.messages).toHaveLength(2);
  });

  test('loses empty stop strings, which would end every answer before it began', () => {
    expect(decode({ stop_sequences: ['', 'END', ''] }).request.sampling.stopSequences).toEqual(['END']);
    expect(decode({ stop_sequences: [''] }).request.sampling).not.toHaveProperty('stopSequences');
  });

  test('asks to continue a last turn of the assistant, with its path', () => {
    const user = { role: 'user', content: 'json' };
    const begun = { role: 'assistant', content: '{' };
    const prefill = (...messages: Json[]) => decode({ system: 'Be.', messages }).request.prefill;
    expect(prefill(user, begun)).toEqual({ path: 'messages[1]' });
    expect(prefill(user, { role: 'assistant', content: [{ type: 'text', text: '{' }] })).toBeDefined();
    expect(prefill(user, begun, user)).toBeUndefined();
    expect(prefill(user, begun, { role: 'system', content: 'Now.' })).toBeUndefined();
    for (const content of ['', ' \n', []])
      expect(prefill(user, { role: 'assistant', content })).toBeUndefined();
  });

  test('may hold null for every optional field', () => {
    const names = [
      'system',
      'stop_sequences',
      'stream',
      'temperature',
      'top_p',
      'top_k',
      'metadata',
      'thinking',
    ];
    const more = ['output_config', 'output_format', 'tools', 'tool_choice', 'container', 'service_tier'];
    const { request } = decode(Object.fromEntries([...names, ...more].map((name) => [name, null])));
    expect(request).toEqual({ model: 'm', messages: [hello], sampling: { maxOutputTokens: 9 } });
  });

  test.each([
    ['model', { model: '' }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: '9' }],
    ['messages', { messages: [] }],
    ['messages[0]', { messages: ['secret'] }],
    ['messages[0].role', { messages: [{ role: 'secret', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'secret' }] }] }],
    [
      'messages[0].content[0].source.data',
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }] },
        ],
      },
    ],
    ['system', { system: 7 }],
    ['system[0].text', { system: [{ type: 'text' }] }],
    ['temperature', { temperature: 1.5 }],
    ['stop_sequences[0]', { stop_sequences: [7] }],
    ['tools[0].input_schema', { tools: [{ name: 'secret' }] }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tool_choice.type', { tool_choice: { type: 'secret' } }],
    ['tool_choice.name', { tool_choice: { type: 'tool' } }],
    ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
  ])('is refused at %s without repeating what it says', (param, body) => {
    const error = refusal(() => decode(body));
    expect(error).toMatchObject({ kind: 'invalid-request', param });
    expect(error.message).toMatch(new RegExp(`^${param.replace(/[[\]]/g, '\\$&')}: `));
    expect(error.message).not.toContain('secret');
  });

  test('is told what is wrong with it', () => {
    const wrong = (body: object) => refusal(() => decode(body)).message;
    expect(wrong({ model: undefined })).toBe('model: is required');
    expect(wrong({ stream: 'yes' })).toBe('stream: must be of type boolean');
    expect(wrong({ tool_choice: { type: 'x' } })).toBe(
      'tool_choice.type: must be one of auto, any, tool, none',
    );
    expect(wrong({ thinking: true })).toBe('thinking: must be an object');
  });

  test('that is no object is refused', () => {
    const wire = { path: '/v1/messages', headers: {}, query: {}, requestId: 'r' };
    for (const body of [undefined, null, 7, 'x', []]) {
      expect(refusal(() => server.decodeRequest({ ...wire, body }))).toMatchObject({ param: 'body' });
    }
  });
});

describe('what a client says besides its request', () => {
  test('is passed on as betas if it can stand in a header', () => {
    const betasOf = (header: string) => {
      const { request } = decode({}, { 'anthropic-beta': header });
      return client.encodeRequest(request, target).headers['anthropic-beta'];
    };
    expect(betasOf('one-2025-01-01, two')).toBe('one-2025-01-01,two');
    expect(betasOf('b\u00e9, a b, one')).toBe('one');
    expect(betasOf('\u00e9')).toBeUndefined();
  });

  test('means nothing under the names that we use for filing', () => {
    const { request } = decode({ betas: ['a\r\nx-evil: 1'], deferred_tools: [{ name: 'z' }], other: 1 });
    const { headers, body } = client.encodeRequest(request, target);
    expect(headers).not.toHaveProperty('anthropic-beta');
    expect(body).not.toHaveProperty('tools');
    expect(body).not.toHaveProperty('betas');
    expect(body.other).toBe(1);
  });

  test('keeps a thinking budget below the limit, whatever else it holds', () => {
    const thinking = { type: 'enabled', budget_tokens: 31_999, future: 1 };
    const { request } = decode({ max_tokens: 9000, thinking });
    expect(client.encodeRequest(request, target).body.thinking).toEqual({ ...thinking, budget_tokens: 8999 });
  });
});
