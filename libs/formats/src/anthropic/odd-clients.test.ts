import type { InferenceRequest, Json, JsonObject, Message, Reasoning } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { parseArguments } from '../calls/call-arguments.ts';
import { formatNamed } from '../golden-run.ts';
import { placeOf } from '../places.ts';
import { formats } from '../registry.ts';
import { refusalOf } from '../test-refusal.ts';
import { createEncoding } from './encoding.ts';
import { anthropic } from './index.ts';
import { encodeModelList } from './models.ts';
import { encodeRequest } from './request/request.ts';
import { decodeThinking, encodeThinking } from './thinking/thinking.ts';

const { server } = anthropic;
const hello = { role: 'user', content: 'Hello' };

function decoded(fields: JsonObject, headers: Record<string, string | string[]> = {}) {
  const body = { model: 'm', max_tokens: 9, messages: [hello], ...fields };
  return server.decodeRequest({ path: '/v1/messages', headers, query: {}, requestId: 'r', body });
}
const decode = (fields: JsonObject) => decoded(fields).request;
const messagesOf = (...messages: Json[]) => decode({ messages }).messages;

const user: Message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };

function encode(request: Partial<InferenceRequest>): JsonObject {
  const target = { model: 'm', stream: true, maxOutputTokens: 9 };
  return encodeRequest({ model: 'm', messages: [user], sampling: {}, ...request }, target).body;
}

const refusal = (attempt: () => unknown): string => refusalOf(attempt).message;

test('the empty citations of an answer say nothing when its text is repeated', () => {
  const [, said] = messagesOf(hello, {
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi.', citations: [] }],
  });
  expect(said?.content).toEqual([{ type: 'text', text: 'Hi.' }]);
});

test('a top_k of 0 limits nothing, and only servers of this dialect get it', () => {
  const request = decode({ top_k: 0 });
  expect(request.sampling).toEqual({ maxOutputTokens: 9 });
  const said = formats.map(({ client }) => {
    const { body } = client.encodeRequest(request, { model: 'm', stream: true, maxOutputTokens: 9 });
    return [client.format, JSON.stringify(body).match(/top_?k":\d+/i)?.[0]];
  });
  expect(Object.fromEntries(said)).toEqual({ anthropic: 'top_k":0', openai: undefined, gemini: undefined });
});

test('a limit of 0, which only warms the cache, is for servers of this dialect, and no stream to them', () => {
  const request = decode({ max_tokens: 0 });
  const target = { model: 'm', stream: true, maxOutputTokens: 9 };
  expect(encodeRequest(request, target).body).toMatchObject({ max_tokens: 0, stream: false });
  for (const { client } of formats) {
    if (client.format === 'anthropic') continue;
    expect(refusal(() => client.encodeRequest(request, target))).toBe(
      'sampling.maxOutputTokens: an answer of no tokens, which only a server of messages can give',
    );
  }
});

test('a top_p or top_k of -1 says nothing', () => {
  expect(decode({ top_p: -1, top_k: -1 })).toEqual(decode({}));
});

describe('a bad field is refused with its place and what was expected:', () => {
  const asked = (...content: Json[]) => ({ messages: [{ role: 'user', content }] });
  const answered = (...content: Json[]) => ({ messages: [hello, { role: 'assistant', content }] });

  test.each<[JsonObject, string]>([
    [{ model: '' }, 'model: must not be empty'],
    [{ model: 7 }, 'model: must be of type string'],
    [{ max_tokens: -1 }, 'max_tokens: must not be negative'],
    [{ messages: [] }, 'messages: must hold at least one message'],
    [{ messages: 7 }, 'messages: must be a list'],
    [{ messages: [7] }, 'messages[0]: must be an object'],
    [{ messages: [{ content: 'a' }] }, 'messages[0].role: must be one of user, assistant, system'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content: is required'],
    [
      { messages: [{ role: 'user', content: 7 }] },
      'messages[0].content: must be a string or a list of blocks',
    ],
    [{ system: 7 }, 'system: must be a string or a list of blocks'],
    [{ stop_sequences: [7] }, 'stop_sequences[0]: must be of type string'],
    [{ temperature: -1 }, 'temperature: must be between 0 and 1'],
    [{ temperature: 2 }, 'temperature: must be between 0 and 1'],
    [{ top_p: -0.5 }, 'top_p: must be between 0 and 1'],
    [{ top_p: 2 }, 'top_p: must be between 0 and 1'],
    [{ top_k: -2 }, 'top_k: must not be negative'],
    [{ metadata: 7 }, 'metadata: must be an object'],
    [{ metadata: { user_id: 7 } }, 'metadata.user_id: must be of type string'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens: must be a whole number above 0'],
    [
      { thinking: { type: 'enabled', budget_tokens: 0 } },
      'thinking.budget_tokens: must be a whole number above 0',
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 1.5 } },
      'thinking.budget_tokens: must be a whole number above 0',
    ],
    [{ output_config: { format: { type: 'x' } } }, 'output_config.format.type: must be one of json_schema'],
    [
      { output_config: { format: { type: 'json_schema' } } },
      'output_config.format.schema: must be an object',
    ],
    [{ output_format: { type: 'x' } }, 'output_format.type: must be one of json_schema'],
    [{ tools: 7 }, 'tools: must be a list'],
    [{ tools: [7] }, 'tools[0]: must be an object'],
    [{ tools: [{ type: 7, name: 'f' }] }, 'tools[0].type: must be a string'],
    [{ tools: [{ name: '', input_schema: {} }] }, 'tools[0].name: must not be empty'],
    [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema: must be an object'],
    [{ tool_choice: { type: 'x' } }, 'tool_choice.type: must be one of auto, any, tool, none'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name: is required'],
    [asked(7), 'messages[0].content[0]: must be an object'],
    [asked({}), 'messages[0].content[0].type: must be a string'],
    [asked({ type: 'text' }), 'messages[0].content[0].text: is required'],
    [asked({ type: 'image' }), 'messages[0].content[0].source: must be an object'],
    [
      asked({ type: 'image', source: { type: 'base64', data: 'AA' } }),
      'messages[0].content[0].source.media_type: is required',
    ],
    [asked({ type: 'image', source: { type: 'url' } }), 'messages[0].content[0].source.url: is required'],
    [
      asked({ type: 'image', source: { type: 'file' } }),
      'messages[0].content[0].source.file_id: is required',
    ],
    [asked({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id: is required'],
    [
      asked({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text' }] }),
      'messages[0].content[0].content[0].text: is required',
    ],
    [
      asked({ type: 'tool_result', tool_use_id: 't', is_error: 'no' }),
      'messages[0].content[0].is_error: must be of type boolean',
    ],
    [answered({ type: 'thinking' }), 'messages[1].content[0].thinking: is required'],
    [answered({ type: 'redacted_thinking' }), 'messages[1].content[0].data: is required'],
    [answered({ type: 'tool_use', name: 'f' }), 'messages[1].content[0].id: is required'],
    [
      answered({ type: 'tool_use', id: 't', name: 'f', input: 7 }),
      'messages[1].content[0].input: must be an object',
    ],
  ])('%j', (fields, message) => {
    expect(refusal(() => decode(fields))).toBe(message);
  });

  test('a body that is no object', () => {
    const http = { path: '/v1/messages', headers: {}, query: {}, requestId: 'r' };
    expect(refusal(() => server.decodeRequest({ ...http, body: [] }))).toBe('body: must be an object');
  });
});

describe('what another dialect asks for and this one cannot express is refused with its path:', () => {
  const media = (
    mediaType: string,
    source: { type: 'url'; url: string } | { type: 'base64'; data: string },
  ) => ({
    messages: [{ role: 'user' as const, content: [{ type: 'media' as const, mediaType, source }] }],
  });
  const noSetting = "this model's server has no such setting";
  const opaque = { type: 'opaque' as const, format: 'openai', value: {} };

  test.each<[Partial<InferenceRequest>, string]>([
    [{ sampling: { frequencyPenalty: 1 } }, `sampling.frequencyPenalty: ${noSetting}`],
    [{ sampling: { presencePenalty: -1 } }, `sampling.presencePenalty: ${noSetting}`],
    [{ logprobs: { alternatives: 0 } }, `logprobs: ${noSetting}`],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: ' \n' }] }] },
      'messages: must not hold blank text only',
    ],
    [
      { messages: [user, { role: 'user', content: [opaque] }] },
      "messages[1].content[0]: this model's server does not understand a part of the openai format",
    ],
    [{ tools: [opaque] }, "tools[0]: this model's server does not understand a part of the openai format"],
    [
      media('audio/wav', { type: 'base64', data: 'AA' }),
      "messages[0].content[0]: this model's server accepts images, PDF and text, but no media of this type",
    ],
    [
      media('text/plain', { type: 'url', url: 'https://x.test' }),
      "messages[0].content[0]: this model's server accepts images, PDF and text, but no media of this type",
    ],
    [
      {
        messages: [
          {
            role: 'assistant',
            content: media('image/png', { type: 'base64', data: 'AA' }).messages[0]?.content ?? [],
          },
        ],
      },
      "messages[0].content[0]: this model's server accepts no media in an assistant turn",
    ],
  ])('%j', (request, message) => {
    expect(refusal(() => encode(request))).toBe(message);
  });

  test('but a penalty of 0 is no penalty', () => {
    expect(() => encode({ sampling: { frequencyPenalty: 0, presencePenalty: 0 } })).not.toThrow();
  });
});

describe('media', () => {
  const mediaOf = (block: JsonObject) => messagesOf({ role: 'user', content: [block] })[0]?.content[0];
  const documentOf = (source: JsonObject, more: JsonObject = {}) => ({ type: 'document', source, ...more });

  test.each<[JsonObject, JsonObject]>([
    [
      documentOf({ type: 'text', media_type: 'text/plain', data: 'ä' }, { title: 't' }),
      { mediaType: 'text/plain', filename: 't', source: { type: 'base64', data: 'w6Q=' } },
    ],
    [
      documentOf({ type: 'url', url: 'https://x.test', odd: 1 }, { title: 7 }),
      {
        mediaType: 'application/pdf',
        source: { type: 'url', url: 'https://x.test' },
        extensions: { anthropic: { title: 7, source: { odd: 1 } } },
      },
    ],
    [
      documentOf({ type: 'file', file_id: 'f' }),
      { mediaType: 'application/octet-stream', source: { type: 'file-id', id: 'f' } },
    ],
    [
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      { mediaType: 'image/*', source: { type: 'file-id', id: 'f' } },
    ],
    [
      { type: 'image', source: { type: 'url', url: 'https://x.test' }, title: 't' },
      {
        mediaType: 'image/*',
        source: { type: 'url', url: 'https://x.test' },
        extensions: { anthropic: { title: 't' } },
      },
    ],
  ])('%j goes both ways', (block, part) => {
    expect(mediaOf(block)).toStrictEqual({ type: 'media', ...part });
    expect(encode({ messages: messagesOf({ role: 'user', content: [block] }) }).messages).toEqual([
      { role: 'user', content: [block] },
    ]);
  });

  test('from an unknown kind of source stays whole', () => {
    const block = documentOf({ type: 'content', content: 'a' });
    expect(mediaOf(block)).toEqual({ type: 'opaque', format: 'anthropic', value: block });
  });
});

describe('thinking', () => {
  const [low, high] = [{ effort: 'low' }, { effort: 'high' }] as const;

  test.each<[JsonObject | undefined, JsonObject, { reasoning?: Reasoning; kept: JsonObject }]>([
    [undefined, {}, { kept: {} }],
    [undefined, { effort: 'low' }, { reasoning: low, kept: { thinking: null } }],
    [undefined, { effort: 'new', odd: 1 }, { kept: { output_config: { effort: 'new', odd: 1 } } }],
    [undefined, { effort: 'toString' }, { kept: { output_config: { effort: 'toString' } } }],
    [{ type: 'adaptive' }, { effort: 'high' }, { reasoning: high, kept: {} }],
    [{ type: 'adaptive', display: 'omitted' }, {}, { reasoning: { visible: false }, kept: {} }],
    [{ type: 'adaptive', display: 'summarized' }, {}, { reasoning: { visible: true }, kept: {} }],
    [
      { type: 'adaptive', display: 'new' },
      {},
      { reasoning: {}, kept: { thinking: { type: 'adaptive', display: 'new' } } },
    ],
    [
      { type: 'enabled', budget_tokens: 5, odd: 1 },
      { odd: 2 },
      {
        reasoning: { budgetTokens: 5 },
        kept: { output_config: { odd: 2 }, thinking: { type: 'enabled', budget_tokens: 5, odd: 1 } },
      },
    ],
    [{ type: 'disabled' }, {}, { reasoning: { effort: 'none' }, kept: {} }],
    [
      { type: 'disabled', odd: 1 },
      { effort: 'low' },
      {
        reasoning: { effort: 'none' },
        kept: { output_config: { effort: 'low' }, thinking: { type: 'disabled', odd: 1 } },
      },
    ],
    [{ type: 'new' }, {}, { reasoning: { effort: 'none' }, kept: { thinking: { type: 'new' } } }],
  ])('%j with %j is read', (thinking, config, wanted) => {
    expect(decodeThinking(thinking, config)).toStrictEqual(wanted);
  });

  const target = { model: 'claude-opus-5-5', isForeign: false, maxTokens: 50_000, isToolForced: false };

  test('asks for each effort in the words of the server', () => {
    const efforts = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
    expect(efforts.map((effort) => encodeThinking({ effort }, target).effort)).toEqual([
      'low',
      'low',
      'medium',
      'high',
      'xhigh',
      'max',
    ]);
    const older = { ...target, model: 'claude-sonnet-4-5', maxTokens: 64_000 };
    expect(efforts.map((effort) => encodeThinking({ effort }, older).thinking?.budget_tokens)).toEqual([
      1024, 2048, 8192, 16_384, 24_576, 31_999,
    ]);
    expect(encodeThinking({}, older)).toStrictEqual({ thinking: { type: 'enabled', budget_tokens: 16_384 } });
    expect(encodeThinking(undefined, target)).toEqual({});
    expect(encodeThinking({ visible: true }, target)).toStrictEqual({
      thinking: { type: 'adaptive', display: 'summarized' },
    });
    expect(encodeThinking({ visible: false }, target)).toStrictEqual({
      thinking: { type: 'adaptive', display: 'omitted' },
    });
  });

  test('keeps a budget between the least and the limit of the answer', () => {
    const budget = (budgetTokens: number, maxTokens: number) =>
      encodeThinking({ budgetTokens }, { ...target, maxTokens }).thinking;
    expect(budget(5_000, 50_000)).toStrictEqual({ type: 'enabled', budget_tokens: 5_000 });
    expect(budget(5_000, 5_000)).toStrictEqual({ type: 'enabled', budget_tokens: 4_999 });
    expect(budget(5, 50_000)).toStrictEqual({ type: 'enabled', budget_tokens: 1_024 });
    expect(budget(0, 50_000)).toStrictEqual({ type: 'disabled' });
    expect(budget(-1, 50_000)).toStrictEqual({ type: 'adaptive' });
  });

  test('leaves half of the answer, where the client named no budget', () => {
    const older = { ...target, model: 'claude-3-7-sonnet' };
    const thought = (maxTokens: number) => encodeThinking({ effort: 'medium' }, { ...older, maxTokens });
    expect(thought(8_192)).toMatchObject({ thinking: { budget_tokens: 4_096 } });
    expect(thought(2_048)).toMatchObject({ thinking: { budget_tokens: 1_024 } });
    expect(thought(2_047)).toEqual({});
  });

  test('gives way to a forced call, except for a budget', () => {
    const forced = { ...target, isToolForced: true };
    expect(encodeThinking({ effort: 'high' }, forced)).toStrictEqual({ effort: 'high' });
    expect(encodeThinking({ visible: true }, forced)).toStrictEqual({});
    expect(encodeThinking({ effort: 'none' }, forced)).toStrictEqual({ thinking: { type: 'disabled' } });
  });

  test('of older models is a budget, of newer ones adaptive', () => {
    const typeOf = (model: string) => encodeThinking({ effort: 'low' }, { ...target, model }).thinking?.type;
    for (const model of [
      'claude-3-5-haiku',
      'anthropic/claude-opus-4',
      'claude-sonnet-4-5',
      'claude-opus-4-1-20250805',
      'claude-haiku-4-5@20251001',
    ]) {
      expect(typeOf(model)).toBe('enabled');
    }
    for (const model of ['claude-opus-4-6', 'claude-sonnet-5', 'claude-opus-4-5-fast', 'm']) {
      expect(typeOf(model)).toBe('adaptive');
    }
  });
});

describe('turns', () => {
  test('hold their results before whatever else the user says, with the fields of the turn', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: '' };
    const said = { type: 'text', text: 'a' };
    const results: Message = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 't', content: [] }],
    };
    const extensions = { anthropic: { odd: 1 } };
    expect(messagesOf({ role: 'user', content: [said, result], odd: 1 })).toEqual([
      results,
      { role: 'user', content: [said], extensions },
    ]);
    expect(messagesOf({ role: 'user', content: [result], odd: 1 })).toEqual([{ ...results, extensions }]);
    expect(messagesOf({ role: 'user', content: [], odd: 1 })).toEqual([
      { role: 'user', content: [], extensions },
    ]);
  });

  test('of results are one turn for a server, followed by its other words', () => {
    const result = (id: string): Message => ({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, isError: true, content: [{ type: 'text', text: 'x' }] },
        { type: 'tool-result', toolCallId: 'n', content: [] },
      ],
      extensions: { anthropic: { odd: id } },
    });
    expect(encode({ messages: [user, result('a'), result('b.c'), user] }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true },
          { type: 'tool_result', tool_use_id: 'n' },
          { type: 'tool_result', tool_use_id: 'b_c', content: 'x', is_error: true },
          { type: 'tool_result', tool_use_id: 'n' },
          { type: 'text', text: 'Hello' },
          { type: 'text', text: 'Hello' },
        ],
        odd: 'b.c',
      },
    ]);
    expect(encode({ messages: [user, user] }).messages).toEqual([hello, hello]);
  });

  test('of the system in the middle stay there for servers of the dialect', () => {
    const system = { role: 'system', content: [{ type: 'text', text: 'a', odd: 1 }] };
    const answer = { role: 'assistant', content: 'b' };
    expect(encode({ messages: messagesOf(system, hello, system, answer, system) })).toMatchObject({
      system: system.content,
      messages: [hello, system, answer, system],
    });
  });

  test('lose the line of a coding tool that differs with every call, and only that', () => {
    const billing = { type: 'text', text: 'x-anthropic-billing-header: 1' };
    const other = { type: 'text', text: 'Be kind.' };
    const systemOf = (system: Json) => decode({ system }).messages.filter(({ role }) => role === 'system');
    const wanted = [{ role: 'system', content: [other] }];
    expect(systemOf([billing, other])).toEqual(wanted);
    expect(systemOf([billing])).toEqual([]);
    expect(systemOf([])).toEqual([]);
    expect(systemOf([other, billing])).toEqual([{ role: 'system', content: [other, billing] }]);
    expect(systemOf(billing.text)).toHaveLength(1);
    expect(systemOf([{ type: 'odd' }, billing, other])).toEqual([
      { role: 'system', content: [{ type: 'opaque', format: 'anthropic', value: { type: 'odd' } }, other] },
    ]);
  });

  test('of the assistant hold signed thinking, and an empty signature if it is unsigned', () => {
    const thinking = { type: 'thinking', thinking: 'a', signature: 's', odd: 1 };
    const redacted = { type: 'redacted_thinking', data: 'x', odd: 1 };
    const [, answer] = messagesOf(hello, {
      role: 'assistant',
      content: [
        thinking,
        redacted,
        { type: 'thinking', thinking: 'b', signature: '' },
        { type: 'thinking', thinking: '' },
      ],
    });
    expect(answer?.content).toEqual([
      { type: 'reasoning', text: 'a', extensions: { anthropic: { signature: 's', odd: 1 } } },
      { type: 'reasoning', text: '', extensions: { anthropic: { data: 'x', odd: 1 } } },
      { type: 'reasoning', text: 'b' },
    ]);
    expect(encode({ messages: answer ? [answer] : [] }).messages).toEqual([
      {
        role: 'assistant',
        content: [thinking, redacted, { type: 'thinking', thinking: 'b', signature: '' }],
      },
    ]);
  });
});

describe('tools', () => {
  const tool = (name: string) => ({ type: 'function' as const, name, parameters: { type: 'object' } });

  test('that wait to be found are kept for servers that can search', () => {
    const waiting = { name: 'g', defer_loading: true };
    const request = decode({
      tools: [{ name: 'f', input_schema: {}, type: null, defer_loading: false }, waiting],
    });
    expect(request.tools).toMatchObject([{ type: 'function', name: 'f' }]);
    expect(encode(request).tools).toEqual([
      { name: 'f', input_schema: { type: 'object' }, defer_loading: false },
      waiting,
    ]);
    const odd = { type: 'odd', defer_loading: true };
    expect(decode({ tools: [odd] }).tools).toEqual([{ type: 'opaque', format: 'anthropic', value: odd }]);
  });

  test('that a choice leaves out are not shown, and there is no choice if none is left', () => {
    const tools = [tool('f'), tool('g')];
    expect(encode({ tools, toolChoice: { type: 'required', allowed: ['g'] } })).toMatchObject({
      tools: [{ name: 'g' }],
      tool_choice: { type: 'any' },
    });
    expect(encode({ tools, toolChoice: { type: 'auto', allowed: [] } })).not.toHaveProperty('tool_choice');
    expect(encode({ tools, toolChoice: { type: 'auto', allowed: [] } })).not.toHaveProperty('tools');
  });

  test.each<[JsonObject, Partial<InferenceRequest>]>([
    [{ type: 'auto' }, { toolChoice: { type: 'auto' } }],
    [{ type: 'none' }, { toolChoice: { type: 'none' } }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { toolChoice: { type: 'required' }, parallelToolCalls: false },
    ],
    [
      { type: 'tool', name: 'f', disable_parallel_tool_use: false },
      { toolChoice: { type: 'tool', name: 'f' }, parallelToolCalls: true },
    ],
  ])('%j is a choice both ways', (tool_choice, wanted) => {
    const request = decode({ tool_choice, tools: [{ name: 'f', input_schema: { type: 'object' } }] });
    expect(request).toMatchObject(wanted);
    if (!('parallelToolCalls' in wanted)) expect(request).not.toHaveProperty('parallelToolCalls');
    expect(encode(request).tool_choice).toEqual(tool_choice);
  });

  test('without a choice may still be called one at a time', () => {
    expect(encode({ tools: [tool('f')], parallelToolCalls: false }).tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
    expect(encode({ tools: [tool('f')] })).not.toHaveProperty('tool_choice');
  });
});

test('ids of calls are made valid for the dialect, each its own', () => {
  const { ids } = createEncoding({ model: 'm', isForeign: false });
  const fit = ['a_b', 'a_b_2', 'a_b_3', 'call', 'call_2'];
  expect(['a.b', 'a_b', 'a:b', '', 'call'].map((id) => ids.ofCall(id))).toEqual(fit);
  expect(['a.b', 'a_b', 'a:b', '', 'call'].map((id) => ids.ofResult(id))).toEqual(fit);
});

test('calls with one id are told apart, and each of their results is the next', () => {
  const { ids } = createEncoding({ model: 'm', isForeign: false });
  expect(['f', 'f'].map((id) => ids.ofCall(id))).toEqual(['f', 'f_2']);
  expect(['f', 'f'].map((id) => ids.ofResult(id))).toEqual(['f', 'f_2']);
  expect([ids.ofCall('f'), ids.ofResult('f'), ids.ofResult('f')]).toEqual(['f_3', 'f_3', 'f_3']);
  expect(['x', 'x'].map((id) => ids.ofResult(id))).toEqual(['x', 'x']);
});

describe('a thread', () => {
  test('begins like any other conversation, and no server gets it', () => {
    expect(decode({ thread: { type: 'create' } })).toEqual(decode({}));
    expect(decode({ thread: null })).toEqual(decode({}));
  });

  test('cannot be continued: what was said before is not there', () => {
    const thread = { type: 'continue', previous_message_id: 'msg_1' };
    for (const messages of [[hello], []]) {
      expect(refusalOf(() => decode({ thread, messages })).info).toMatchObject({
        kind: 'not-found',
        detail: 'thread-not-found',
        param: 'thread',
      });
    }
  });
});

describe('a compaction', () => {
  const compaction = { type: 'summarize', instructions: 'Briefly.' };
  const request = decode({ compaction, system: 'Be brief.' });

  test('is passed to a server of the dialect unchanged, beside the conversation', () => {
    const body = encode(request);
    expect(body.compaction).toEqual(compaction);
    expect({ ...body, compaction: null }).toEqual({
      ...encode(decode({ system: 'Be brief.' })),
      compaction: null,
    });
  });

  test.each(['openai', 'gemini'])('is refused for a server of %s, which would answer instead', (dialect) => {
    const target = { model: 'm', stream: true, maxOutputTokens: 9 };
    const { info } = refusalOf(() => formatNamed(dialect).client.encodeRequest(request, target));
    expect(info.kind).toBe('invalid-request');
    expect(placeOf(info.param ?? '', request)).toBe('compaction');
  });

  test('is none for a null, nor if tokens are counted', () => {
    expect(decode({ compaction: null })).toEqual(decode({}));
    const body = { model: 'm', messages: [hello], compaction };
    const path = '/v1/messages/count_tokens';
    const counted = server.decodeRequest({ path, headers: {}, query: {}, requestId: 'r', body });
    expect(counted.request.messages).toEqual(decode({}).messages);
  });

  test('is recognized only in this format’s own shape', () => {
    const messages = (format: string, value: Json): Message[] => [
      { role: 'system', content: [{ type: 'opaque', format, value }] },
      user,
    ];
    expect(encode({ messages: messages('anthropic', { text: 'a' }) })).not.toHaveProperty('compaction');
    expect(refusal(() => encode({ messages: messages('openai', { compaction }) }))).toBe(
      "messages[0].content[0]: this model's server does not understand a part of the openai format",
    );
  });
});

describe('a request', () => {
  test('without a schema for its JSON asks for it in words, with one in the config', () => {
    expect(encode({ output: { type: 'json' } }).system).toEqual([
      { type: 'text', text: 'Answer with one valid JSON object and nothing else.' },
    ]);
    expect(encode({ output: { type: 'json', schema: { a: 1 } } })).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: { a: 1 } } },
    });
    expect(encode({ output: { type: 'json', schema: { a: 1 } } })).not.toHaveProperty('system');
    expect(encode({ output: { type: 'text' } })).not.toHaveProperty('system');
    expect(encode({ sampling: { temperature: 1.5 } }).temperature).toBe(1);
  });

  test('keeps the user, the rest of its metadata and its betas', () => {
    const request = decoded(
      { metadata: { user_id: 'u', odd: 1 }, stop_sequences: [] },
      { 'anthropic-beta': ['a, b', ',c'] },
    ).request;
    expect(request.endUser).toBe('u');
    expect(request.sampling).toStrictEqual({ maxOutputTokens: 9 });
    const target = { model: 'm', stream: true, maxOutputTokens: 9 };
    const { body, headers } = encodeRequest(request, target);
    expect(body.metadata).toEqual({ user_id: 'u', odd: 1 });
    expect(headers).toEqual({ 'anthropic-beta': 'a,b,c' });
    expect(encodeRequest(decode({}), target)).toMatchObject({ headers: {} });
    expect(encode(decode({ metadata: {} }))).not.toHaveProperty('metadata');
  });
});

describe('pages of models', () => {
  const models = ['a', 'b', 'c'].map((id) => ({ id, displayName: id.toUpperCase(), createdAt: 1_500 }));
  const page = (query: Record<string, string>) => {
    const { data, ...rest } = encodeModelList(models, query) as { data: { id: string }[] };
    return [data.map(({ id }) => id).join(''), rest];
  };

  test('end where the list does', () => {
    expect(page({ limit: '3' })).toEqual(['abc', { has_more: false, first_id: 'a', last_id: 'c' }]);
    expect(page({ limit: '2' })).toEqual(['ab', { has_more: true, first_id: 'a', last_id: 'b' }]);
    expect(page({ limit: '1', after_id: 'b' })).toEqual([
      'c',
      { has_more: false, first_id: 'c', last_id: 'c' },
    ]);
    expect(page({ limit: '1', before_id: 'c' })).toEqual([
      'b',
      { has_more: true, first_id: 'b', last_id: 'b' },
    ]);
    expect(page({ limit: '2', before_id: 'c' })).toEqual([
      'ab',
      { has_more: false, first_id: 'a', last_id: 'b' },
    ]);
    expect(page({ lifecycle: 'retired' })).toEqual(['', { has_more: false, first_id: null, last_id: null }]);
    expect(page({ 'lifecycle[]': 'retired,active' })[0]).toBe('abc');
    expect(page({ limit: '1000' })[0]).toBe('abc');
  });

  test('are refused for a query that makes no sense', () => {
    const refused = (query: Record<string, string>) => refusal(() => encodeModelList(models, query));
    for (const limit of ['0', '1001', '1.5', 'x']) {
      expect(refused({ limit })).toBe('limit: must be a whole number from 1 to 1000');
    }
    expect(refused({ after_id: 'x' })).toBe('after_id: no such model');
    expect(refused({ before_id: 'x' })).toBe('before_id: no such model');
    expect(refused({ after_id: 'a', before_id: 'b' })).toBe('before_id: cannot be combined with after_id');
  });

  test('show a model with every key', () => {
    expect(encodeModelList(models.slice(0, 1), {})).toMatchObject({
      data: [
        {
          type: 'model',
          id: 'a',
          display_name: 'A',
          created_at: '1970-01-01T00:00:01.500Z',
          max_input_tokens: null,
          max_tokens: null,
          capabilities: null,
          lifecycle: 'active',
          line: null,
          deprecated_at: null,
          retires_at: null,
        },
      ],
    });
  });
});

test.each<[string, JsonObject, boolean]>([
  ['', {}, true],
  [' ', {}, true],
  ['{"a":1}', { a: 1 }, true],
  ['{"a":"b', { a: 'b' }, true],
  ['{"a":"b\\', { a: 'b' }, true],
  ['{"a":"b\\u00', { a: 'b' }, true],
  ['{"a":"\\"}', { a: '"}' }, true],
  ['{"a":[1,{"b":2', { a: [1, { b: 2 }] }, true],
  ['{"a":1,"b":tr', { a: 1 }, true],
  ['{"a":1,"b"', { a: 1 }, true],
  ['{"a":{"b":[1,2]},"c":[3],', { a: { b: [1, 2] }, c: [3] }, true],
  ['{"a":[1,[2],', { a: [1, [2]] }, true],
  ['[1]', {}, false],
  ['"a"', {}, false],
  ['a', {}, false],
  ['{a', {}, false],
  ['}', {}, false],
])('arguments %j are read as %j', (text, input, isReadable) => {
  expect(parseArguments(text)).toMatchObject({ input, isReadable });
});
