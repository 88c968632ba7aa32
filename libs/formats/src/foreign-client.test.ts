import type { JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { findClientCodec, serverCodecs } from './registry.ts';

/** What a server of `dialect` is sent for the body of a client of `format`. */
function sent(format: string, body: object, dialect: string, model: string): JsonObject {
  const server = serverCodecs.find((codec) => codec.format === format);
  const client = findClientCodec(dialect);
  if (!server || !client) throw new TypeError('no such format');
  const path = format === 'gemini' ? '/v1beta/models/m:generateContent' : '/v1/any';
  const { request } = server.decodeRequest({ path, headers: {}, query: {}, requestId: 'r', body });
  return client.encodeRequest(request, { model, stream: true, maxOutputTokens: 32_000, clientFormat: format })
    .body;
}

const hello = [{ role: 'user', content: 'Hello' }];
const chat = (body: object) => ({ model: 'm', messages: hello, ...body });
const messages = (body: object) => ({ model: 'm', max_tokens: 9000, messages: hello, ...body });
const generate = (body: object) => ({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], ...body });

describe('a Claude model', () => {
  const codingTool = generate({
    generationConfig: {
      ...{ temperature: 1, topP: 0.95, topK: 64 },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
    },
  });

  test('gets nothing beside thinking that it refuses there', () => {
    const body = sent('gemini', codingTool, 'anthropic', 'claude-sonnet-4-5');
    expect(body.thinking).toMatchObject({ type: 'enabled', budget_tokens: 8192 });
    expect(body.top_p).toBe(0.95);
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('top_k');
    const narrow = chat({ reasoning_effort: 'high', temperature: 0.2, top_p: 0.5 });
    const other = sent('openai', narrow, 'anthropic', 'claude-opus-4-6');
    expect(other).not.toHaveProperty('temperature');
    expect(other).not.toHaveProperty('top_p');
  });

  test('gets a temperature or a share of the likeliest, not both', () => {
    const both = (temperature: number) =>
      sent('openai', chat({ temperature, top_p: 0.5, top_k: 3 }), 'anthropic', 'claude-sonnet-4-5');
    expect(both(0.2)).toMatchObject({ temperature: 0.2, top_k: 3 });
    expect(both(0.2)).not.toHaveProperty('top_p');
    expect(both(1)).toMatchObject({ top_p: 0.5 });
    expect(both(1)).not.toHaveProperty('temperature');
    const alone = sent('openai', chat({ temperature: 1.7 }), 'anthropic', 'claude-sonnet-4-5');
    expect(alone.temperature).toBe(1);
  });

  test.each(['claude-opus-4-7', 'claude-opus-4-10', 'claude-sonnet-5', 'claude-opus-5-5@20261001'])(
    'that knows neither settings nor budgets gets none: %s',
    (model) => {
      const body = sent('gemini', codingTool, 'anthropic', model);
      for (const setting of ['temperature', 'top_p', 'top_k']) expect(body).not.toHaveProperty(setting);
      expect(body.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
      expect(body.output_config).toEqual({ effort: 'medium' });
    },
  );

  test('is not asked to think between a call and its result without what it thought before', () => {
    const loop = chat({
      reasoning_effort: 'high',
      messages: [
        ...hello,
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    expect(sent('openai', loop, 'anthropic', 'claude-sonnet-4-5')).not.toHaveProperty('thinking');
    // Adaptive thinking may begin anywhere.
    const adaptive = sent('openai', loop, 'anthropic', 'claude-opus-4-6');
    expect(adaptive.thinking).toEqual({ type: 'adaptive' });
    const settled = { ...loop, messages: [...loop.messages, { role: 'assistant', content: 'ok' }, ...hello] };
    expect(sent('openai', settled, 'anthropic', 'claude-sonnet-4-5')).toHaveProperty('thinking');
  });

  test('is told what a client of its own dialect said, but for thinking of ours that it can not know', () => {
    const said = {
      thinking: { type: 'enabled', budget_tokens: 2000 },
      temperature: 0.2,
      top_p: 0.5,
      top_k: 3,
    };
    const model = 'claude-opus-4-7';
    expect(sent('anthropic', messages(said), 'anthropic', model)).toMatchObject(said);
    const loop = (thinking: object[]) =>
      messages({
        ...said,
        messages: [
          ...hello,
          { role: 'assistant', content: [...thinking, { type: 'tool_use', id: 'c', name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
        ],
      });
    const thought = (signature: string) => [{ type: 'thinking', thinking: 'hm', signature }];
    const asked = (thinking: object[]) => sent('anthropic', loop(thinking), 'anthropic', model).thinking;
    expect(asked([])).toEqual(said.thinking);
    expect(asked(thought('its own'))).toEqual(said.thinking);
    expect(asked(thought('c2x1aWNlLzEvMg=='))).toBeUndefined();
  });

  test('gets a prompt of nothing but instructions as one of the user', () => {
    const body = sent(
      'openai',
      chat({ messages: [{ role: 'system', content: 'Say hi' }] }),
      'anthropic',
      'x',
    );
    expect(body).not.toHaveProperty('system');
    expect(body.messages).toEqual([{ role: 'user', content: 'Say hi' }]);
  });
});

describe('another model of that dialect', () => {
  test('gets every setting', () => {
    const body = chat({ temperature: 0.2, top_p: 0.5, top_k: 3, reasoning_effort: 'high' });
    expect(sent('openai', body, 'anthropic', 'qwen')).toMatchObject({
      temperature: 0.2,
      top_p: 0.5,
      top_k: 3,
    });
  });
});

describe('a server of chat completions', () => {
  test('hears nothing of tools where a client of another format has none', () => {
    const none = [
      sent('anthropic', messages({ tools: [], tool_choice: { type: 'auto' } }), 'openai', 'm'),
      sent('gemini', generate({ toolConfig: { functionCallingConfig: { mode: 'NONE' } } }), 'openai', 'm'),
    ];
    for (const body of none) {
      for (const field of ['tools', 'tool_choice', 'parallel_tool_calls'])
        expect(body).not.toHaveProperty(field);
    }
    const own = sent('openai', chat({ tools: [], tool_choice: 'none' }), 'openai', 'm');
    expect(own).toMatchObject({ tools: [], tool_choice: 'none' });
  });
});

describe('a Gemini model', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: id, arguments: '{}' } });
  const steps = chat({
    messages: [
      ...hello,
      { role: 'assistant', content: '', tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      { role: 'tool', tool_call_id: 'b', content: 'done' },
      { role: 'assistant', tool_calls: [call('c')] },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ],
  });
  const callsOf = (body: JsonObject) =>
    (body.contents as { parts: JsonObject[] }[]).flatMap(({ parts }) =>
      parts.filter((part) => part.functionCall),
    );

  test('gets the first call of every step signed as made elsewhere, if it asks for signatures', () => {
    const signatures = (model: string) =>
      callsOf(sent('openai', steps, 'gemini', model)).map((part) => part.thoughtSignature);
    const word = 'skip_thought_signature_validator';
    expect(signatures('gemini-3.1-pro-preview')).toEqual([word, undefined, word]);
    expect(signatures('gemini-flash-latest')).toEqual([word, undefined, word]);
    expect(signatures('gemini-2.5-pro')).toEqual([undefined, undefined, undefined]);
    expect(signatures('other')).toEqual([undefined, undefined, undefined]);
  });

  test('gets no empty text, and the words of a client of its own dialect as they are', () => {
    const contents = [
      { role: 'user', parts: [{ text: 'Hello' }] },
      {
        role: 'model',
        parts: [{ text: '', thoughtSignature: 's' }, { functionCall: { id: 'c', name: 'f', args: {} } }],
      },
      { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: {} } }] },
    ];
    expect(sent('gemini', { contents }, 'gemini', 'gemini-3.1-pro-preview').contents).toEqual(contents);
    const redacted = messages({
      messages: [
        ...hello,
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: 'x' },
            { type: 'text', text: 'Hi' },
          ],
        },
        ...hello,
      ],
    });
    const [, said] = sent('anthropic', redacted, 'gemini', 'gemini-3.1-pro-preview').contents as JsonObject[];
    expect(said).toEqual({ role: 'model', parts: [{ text: 'Hi' }] });
  });
});
