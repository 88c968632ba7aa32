import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { rephrase } from './rephrase.ts';

const said = (refusal: string, messages: Json) =>
  rephrase({ model: 'm', messages }, refusal, false)?.messages;
const user = { role: 'user', content: 'Hi' };
const call = { type: 'tool_use', id: 'c', name: 'f', input: {} };

test.each([
  'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
  "messages.1.role: Input should be 'user' or 'assistant'",
  'system message must be at the beginning',
  // Ollama
  "unknown variant 'system', expected 'user' or 'assistant'",
  // DeepSeek, Qwen
  'Failed to deserialize the JSON body: messages[1].role: unknown variant `system`, expected `user` or `assistant`',
  // MiniMax
  'invalid params, chat content has invalid message role: system (2013)',
  "messages[1].role must be either 'user' or 'assistant', but got 'system'",
  "Invalid enum value. Expected 'user' | 'assistant', received 'system'",
  // LM Studio
  "request.messages.1.role: Invalid discriminator value. Expected 'user' | 'assistant'",
])('a server without system turns gets them from the user, in their place: %s', (refusal) => {
  const content = [{ type: 'text', text: 'Use no tools.' }];
  expect(said(refusal, [user, { role: 'system', content }, { role: 'assistant', content: 'Well' }])).toEqual([
    user,
    { role: 'user', content },
    { role: 'assistant', content: 'Well' },
  ]);
  expect(said(refusal, [user])).toBeUndefined();
});

test.each([
  'The `content[].thinking` in the thinking mode must be passed back to the API.',
  // Moonshot
  'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
])('a server that misses the thought before a call gets an empty one: %s', (refusal) => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
  const messages = [
    user,
    { role: 'assistant', content: [{ type: 'text', text: 'Let me see.' }, call] },
    { role: 'assistant', content: [thought, call] },
    { role: 'assistant', content: 'Well' },
    { role: 'assistant', content: [{ type: 'text', text: 'Well' }] },
  ];
  const empty = { type: 'thinking', thinking: '', signature: '' };
  const all = said(refusal, messages);
  expect(all).toEqual([
    user,
    { role: 'assistant', content: [empty, { type: 'text', text: 'Let me see.' }, call] },
    ...messages.slice(2),
  ]);
  expect(said(refusal, all ?? [])).toBeUndefined();
});

test('a server that does not know newer fields gets no hints, but everything that is asked', () => {
  const tool = { name: 'f', input_schema: { type: 'object' } };
  const body = {
    messages: [user],
    tools: [{ ...tool, eager_input_streaming: true }, tool],
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [] },
    output_config: { effort: 'high' },
  };
  const refused = (field: string) => rephrase(body, `${field}: Extra inputs are not permitted`, false);
  expect(refused('tools.0.custom.eager_input_streaming')).toEqual({ ...body, tools: [tool, tool] });
  expect(refused('thinking.adaptive.display')).toEqual({ ...body, thinking: { type: 'adaptive' } });
  const { context_management: _edits, ...unmanaged } = body;
  expect(refused('context_management')).toEqual(unmanaged);
  expect(refused('output_config')).toBeUndefined();
  const { output_config: _effort, ...effortless } = body;
  const bedrock = 'output_config.effort: Extra inputs are not permitted';
  expect(rephrase(body, bedrock, true)).toEqual(effortless);
  expect(rephrase(effortless, bedrock, true)).toBeUndefined();
  expect(rephrase(unmanaged, 'context_management: Extra inputs are not permitted', false)).toBeUndefined();
  const words = "Extra inputs are not permitted, field: 'tools[0].eager_input_streaming', value: True";
  expect(rephrase(body, words, false)).toMatchObject({ tools: [tool, tool] });
});

test('a server that knows no adaptive thinking gets a budget of half the answer, or no thinking', () => {
  const refusal = "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported.";
  const body = { model: 'm', messages: [user], max_tokens: 32_000 };
  for (const isForeign of [true, false]) {
    const refused = (more: object) => rephrase({ ...body, ...more }, refusal, isForeign);
    expect(refused({ thinking: { type: 'adaptive', display: 'summarized' } })).toEqual({
      ...body,
      thinking: { type: 'enabled', budget_tokens: 16_000 },
    });
    expect(refused({ thinking: { type: 'adaptive' }, max_tokens: 2000 })).toEqual({
      ...body,
      max_tokens: 2000,
    });
    expect(refused({ thinking: { type: 'enabled', budget_tokens: 1024 } })).toBeUndefined();
  }
});

test('a model that may not be forced to a call is left the choice, for a client of another format', () => {
  const refusal = 'deepseek-reasoner does not support this tool_choice';
  const free = { model: 'm', messages: [user] };
  for (const tool_choice of [{ type: 'any' }, { type: 'tool', name: 'f' }]) {
    expect(rephrase({ ...free, tool_choice }, refusal, true)).toEqual(free);
    expect(rephrase({ ...free, tool_choice }, refusal, false)).toBeUndefined();
  }
  expect(rephrase({ ...free, tool_choice: { type: 'auto' } }, refusal, true)).toBeUndefined();
});

test('a server that accepts only thinking that it signed gets no other', () => {
  const refusal = 'messages.1.content.0: Invalid `signature` in `thinking` block';
  const unsigned = { type: 'thinking', thinking: 'Hm.', signature: '' };
  const signed = { ...unsigned, signature: 's' };
  const messages = [
    user,
    { role: 'assistant', content: [unsigned, call] },
    { role: 'assistant', content: [unsigned] },
    { role: 'assistant', content: [signed, call] },
  ];
  expect(said(refusal, messages)).toEqual([user, { role: 'assistant', content: [call] }, messages[3]]);
  expect(said(refusal, [user, messages[3] ?? null])).toBeUndefined();
  expect(said('max_tokens: is too large', messages)).toBeUndefined();
  expect(said(refusal, 'odd')).toBeUndefined();
});

test.each([
  'metadata.user_id: user_id appears to contain an email address. Please send a uuid or hash value instead.',
  "Invalid 'user_id': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
])('a server that refuses the id of a user gets a hash that still tells users apart: %s', (refusal) => {
  const hashed = (user_id: Json) =>
    rephrase({ messages: [user], metadata: { user_id, team: 'a' } }, refusal, false)?.metadata;
  const sent = hashed('alice@example.com');
  expect(sent).toEqual({ user_id: expect.stringMatching(/^[0-9a-f]{64}$/), team: 'a' });
  expect(hashed('alice@example.com')).toEqual(sent);
  expect(hashed('bob@example.com')).not.toEqual(sent);
  expect(hashed('+49 30 1234567')).toBeDefined();
  expect(hashed('0301234567')).toBeDefined();
  // The refusal is remembered for ids that no server refuses, too.
  expect(hashed('user_42')).toBeUndefined();
  // A hash that is refused, too, is not hashed again.
  expect(rephrase({ messages: [user], metadata: sent ?? null }, refusal, false)).toBeUndefined();
  expect(rephrase({ messages: [user] }, refusal, false)).toBeUndefined();
});

test.each([
  'messages: first message must use the "user" role',
  'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
])(
  'a server that wants the user to begin gets a turn before the greeting of the assistant: %s',
  (refusal) => {
    const greeting = { role: 'assistant', content: 'How can I help?' };
    const begun = said(refusal, [greeting, user]);
    expect(begun).toEqual([{ role: 'user', content: '…' }, greeting, user]);
    expect(said(refusal, begun ?? [])).toBeUndefined();
    expect(said(refusal, [])).toBeUndefined();
  },
);

test.each([
  'This model does not support assistant message prefill. The conversation must end with a user message.',
  'Prefilling assistant messages is not supported for this model.',
  'messages[1]: the model cannot continue an assistant turn that comes last',
])(
  'a server that wants the user last gets a turn after an answer of a client of another format: %s',
  (refusal) => {
    const messages = [user, { role: 'assistant', content: 'Hello.' }];
    const ended = { messages: [...messages, { role: 'user', content: 'Continue.' }] };
    expect(rephrase({ messages }, refusal, true)).toEqual(ended);
    expect(rephrase(ended, refusal, true)).toBeUndefined();
    // A client of messages begins the answer so, and a lost answer is continued so.
    expect(rephrase({ messages }, refusal, false)).toBeUndefined();
    expect(rephrase({ messages }, refusal, true, true)).toBeUndefined();
  },
);

describe('a Claude that its name does not tell', () => {
  const body = {
    messages: [user],
    temperature: 0.2,
    top_p: 0.5,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: {} } },
  };
  const { temperature, top_p, thinking, output_config, ...plain } = body;

  test.each([
    [
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
      { ...plain, temperature, thinking, output_config },
    ],
    [
      '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.',
      { ...plain, top_p, thinking, output_config },
    ],
    ['adaptive thinking is not supported on this model', { ...plain, temperature, top_p, output_config }],
    [
      'This model does not support the effort parameter.',
      { ...plain, temperature, top_p, thinking, output_config: { format: output_config.format } },
    ],
  ])('gets no setting that it refuses from a client of another format: %s', (refusal, expected) => {
    expect(rephrase(body, refusal, true)).toEqual(expected);
    expect(rephrase(plain, refusal, true)).toBeUndefined();
    expect(rephrase(body, refusal, false)).toBeUndefined();
  });

  test.each([
    ['adaptive', 'adaptive thinking is not supported on this model'],
    ['disabled', '"thinking.type.disabled" is not supported for this model.'],
  ])('that refuses thinking that is %s gets every other as it is', (type, refusal) => {
    expect(rephrase({ ...plain, thinking: { type } }, refusal, true)).toEqual(plain);
    const budget = { type: 'enabled', budget_tokens: 2048 };
    expect(rephrase({ ...plain, thinking: budget }, refusal, true)).toBeUndefined();
  });

  test('that knows no budget chooses itself how much it thinks', () => {
    const refusal =
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
    const budget = { type: 'enabled', budget_tokens: 2048, display: 'omitted' };
    expect(rephrase({ ...plain, thinking: budget }, refusal, true)).toEqual({
      ...plain,
      thinking: { type: 'adaptive', display: 'omitted' },
    });
    expect(rephrase(body, refusal, true)).toBeUndefined();
    expect(rephrase({ ...plain, thinking: { type: 'disabled' } }, refusal, true)).toBeUndefined();
  });

  test.each([
    ['max', "This model does not support effort level 'max'. Supported levels: high, low, medium.", 'high'],
    [
      'xhigh',
      "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
      'max',
    ],
    [
      'high',
      'output_config.effort "high" is not supported by model claude-opus-4.7; supported values: [medium]',
      'medium',
    ],
  ])(
    'that lacks the effort %s gets the nearest, and every other as it is: %s',
    (effort, refusal, nearest) => {
      const asked = (word: string) => ({ ...plain, output_config: { ...output_config, effort: word } });
      expect(rephrase(asked(effort), refusal, true)).toEqual(asked(nearest));
      expect(rephrase(asked('medium'), refusal, true)).toBeUndefined();
      expect(rephrase(asked(effort), refusal, false)).toBeUndefined();
    },
  );

  test('that lacks one effort and does not say which it has gets every other as it is', () => {
    const refusal = 'output_config.effort "xhigh" is not supported by this model';
    const asked = (effort: string) => ({ ...plain, output_config: { effort } });
    expect(rephrase(asked('xhigh'), refusal, true)).toEqual(plain);
    expect(rephrase(asked('low'), refusal, true)).toBeUndefined();
  });

  test('keeps a setting that it refuses only beside another', () => {
    const alone = { ...plain, top_p };
    const both = '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
    expect(rephrase(alone, both, true)).toBeUndefined();
    const fixed = '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.';
    expect(rephrase({ ...plain, temperature }, fixed, true)).toBeUndefined();
  });
});

test.each([
  // Older vLLM, which quotes what it refuses
  "2 validation errors:\n  {'type': 'string_type', 'loc': ('body', 'messages', 1, 'content', 'str'), 'msg': 'Input should be a valid string', 'input': [{'type': 'thinking', 'thinking': 'Hm.', 'signature': 's'}",
  // ModelScope
  'messages.1.content.str: Input should be a valid string',
])('a server that knows no thinking gets none: %s', (refusal) => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
  const text = { type: 'text', text: 'Well' };
  const plain = [user, { role: 'assistant', content: [text, call] }];
  const talk = [
    user,
    { role: 'assistant', content: [thought] },
    { role: 'assistant', content: [thought, text, call] },
  ];
  expect(said(refusal, talk)).toEqual(plain);
  expect(said(refusal, plain)).toBeUndefined();
});

test('a template of gpt-oss gets what precedes a call at the end of the thinking', () => {
  const refusal =
    'Error: Jinja Exception: Cannot pass both content and thinking in an assistant message with tool calls!';
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
  const text = { type: 'text', text: 'Let me see.' };
  const others = [
    user,
    { role: 'assistant', content: [thought, call] },
    { role: 'assistant', content: [text, call] },
    { role: 'assistant', content: [thought, text] },
  ];
  const both = { type: 'thinking', thinking: 'Hm.\n\nLet me see.', signature: '' };
  expect(said(refusal, [...others, { role: 'assistant', content: [thought, text, call] }])).toEqual([
    ...others,
    { role: 'assistant', content: [both, call] },
  ]);
  expect(said(refusal, others)).toBeUndefined();
});

test('a server that does not know where or how long to cache is not told, whatever is marked', () => {
  const marked = (cache_control: JsonObject) => ({
    system: [{ type: 'text', text: 'S', cache_control }],
    tools: [{ name: 'f', input_schema: {}, cache_control }],
    messages: [user, { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] }],
    cache_control,
  });
  const body = marked({ type: 'ephemeral', scope: 'global', ttl: '1h' });
  const refused = (field: string) => rephrase(body, `${field}: Extra inputs are not permitted`, false);
  expect(refused('system.0.cache_control.ephemeral.scope')).toEqual(marked({ type: 'ephemeral', ttl: '1h' }));
  expect(refused('tools.0.cache_control.ttl')).toEqual(marked({ type: 'ephemeral', scope: 'global' }));
  const plain = marked({ type: 'ephemeral' });
  expect(rephrase(plain, 'cache_control.scope: Extra inputs are not permitted', false)).toBeUndefined();
});

test('a server that does not know the marks of tools gets none there', () => {
  const cache_control = { type: 'ephemeral' };
  const tool = { name: 'f', input_schema: {} };
  const body = { system: [{ type: 'text', text: 'S', cache_control }], tools: [{ ...tool, cache_control }] };
  // Fireworks
  const refusal =
    "Extra inputs are not permitted, field: 'tools[0].cache_control', value: {'type': 'ephemeral'}";
  const bare = { ...body, tools: [tool] };
  expect(rephrase(body, refusal, false)).toEqual(bare);
  expect(rephrase(bare, refusal, false)).toBeUndefined();
});

describe('a server that takes nothing but text in a result', () => {
  const refusal = 'Input should be a valid string (ref: a9065c14-5a11-4d60-a4ac-31554a0b8e35)';
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
  const text = (words: string) => ({ type: 'text', text: words });
  const result = (id: string, ...content: Json[]) => ({
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 && { content }),
  });

  test('gets the images of results after all of them, under the id of their call', () => {
    const plain = result('c', text('Done.'));
    const content = [result('a', text('See:'), image), result('b', image), plain, text('Go on.')];
    const apart = [
      result('a', text('See:')),
      result('b'),
      plain,
      text('Output of tool call a:'),
      image,
      text('Output of tool call b:'),
      image,
      text('Go on.'),
    ];
    expect(said(refusal, [user, { role: 'user', content }])).toEqual([
      user,
      { role: 'user', content: apart },
    ]);
  });

  test('is not asked again about results of text, nor for another reason', () => {
    const turns = [user, { role: 'user', content: [result('a', text('Done.')), image] }];
    expect(said(refusal, turns)).toBeUndefined();
    const withImage = [{ role: 'user', content: [result('a', image)] }];
    expect(said('system: Input should be a valid string', withImage)).toBeUndefined();
  });
});

describe('a server that knows only some types of thinking', () => {
  const adaptive = { max_tokens: 8000, thinking: { type: 'adaptive' } };

  test.each([
    // NVIDIA
    'Validation: `thinking.type` must be `enabled` or `disabled`',
    "thinking.type: Input should be 'enabled' or 'disabled'",
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    "thinking.type: Invalid discriminator value. Expected 'enabled' | 'disabled'",
    'invalid thinking: only type=enabled is allowed for this model',
  ])('gets a budget instead of adaptive thinking: %s', (refusal) => {
    const budgeted = { max_tokens: 8000, thinking: { type: 'enabled', budget_tokens: 4000 } };
    expect(rephrase(adaptive, refusal, false)).toEqual(budgeted);
    expect(rephrase(budgeted, refusal, false)).toBeUndefined();
  });

  test('is not told to stop thinking if its model always does', () => {
    const refusal = 'invalid thinking: only type=enabled is allowed for this model';
    const declined = { max_tokens: 8000, thinking: { type: 'disabled' } };
    expect(rephrase(declined, refusal, false)).toEqual({ max_tokens: 8000 });
    expect(rephrase({ max_tokens: 8000 }, refusal, false)).toBeUndefined();
  });
});

test('Moonshot is left to decide about a call while it thinks, for a client of another format', () => {
  const refusal = 'tool_choice specified is incompatible with thinking enabled';
  const forced = { tools: [], tool_choice: { type: 'any' } };
  expect(rephrase(forced, refusal, true)).toEqual({ tools: [] });
  expect(rephrase(forced, refusal, false)).toBeUndefined();
  expect(rephrase({ tools: [], tool_choice: { type: 'auto' } }, refusal, true)).toBeUndefined();
});

test.each(['input_examples', 'defer_loading'])(
  'a server that does not know %s of a tool gets none',
  (name) => {
    const tool = { name: 'f', input_schema: { type: 'object' } };
    const refusal = `tools.0.custom.${name}: Extra inputs are not permitted`;
    const body = { messages: [user], tools: [{ ...tool, [name]: true }] };
    expect(rephrase(body, refusal, false)).toEqual({ messages: [user], tools: [tool] });
  },
);
