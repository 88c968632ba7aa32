import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { openai } from './index.ts';
import { rephrase } from './rephrase.ts';

const said = (refusal: string, messages: Json[]) =>
  rephrase({ model: 'm', messages }, refusal, false)?.messages;

describe('a template that takes system messages at the head only', () => {
  const refusals = [
    'System message must be at the beginning.',
    'Error: Jinja Exception: System message must be at the beginning.',
    'system message must be at the beginning',
    'Expected last role User or Tool (or Assistant with prefix True) for serving but got system',
    "Unexpected role 'system' after role 'user'",
    'invalid params, chat content has invalid message role: system (2013)',
    'invalid params, invalid chat setting (2013)',
  ];

  test.each(refusals)('gets later instructions from the user, in their place: %s', (refusal) => {
    const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] };
    expect(
      said(refusal, [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        call,
        { role: 'tool', tool_call_id: 'c', content: 'done' },
        { role: 'system', content: [{ type: 'text', text: 'Use no tools.' }] },
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      call,
      { role: 'tool', tool_call_id: 'c', content: 'done' },
      { role: 'user', content: [{ type: 'text', text: 'Use no tools.' }] },
    ]);
  });

  test('gets all instructions at the head in one message', () => {
    const two = [
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      { role: 'user', content: 'Hi' },
    ];
    expect(said(refusals[0] ?? '', two)).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Be kind.' },
        ],
      },
      { role: 'user', content: 'Hi' },
    ]);
  });

  test('is not asked again if the order was already so', () => {
    const plain = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ];
    for (const refusal of refusals) expect(said(refusal, plain)).toBeUndefined();
    expect(rephrase({ model: 'm', messages: 'odd' }, refusals[0] ?? '', false)).toBeUndefined();
  });
});

test('adjacent turns are joined at once, however many they are', () => {
  const content = [{ type: 'text', text: 'a' }];
  const messages = Array.from({ length: 100_000 }, () => ({ role: 'user', content }));
  const said = rephrase({ messages }, 'Conversation roles must alternate', false);
  expect(said?.messages).toEqual([{ role: 'user', content: messages.map(() => content[0]) }]);
});

test('a template whose turns alternate gets adjacent ones joined, except calls and results', () => {
  const call = { role: 'assistant', content: '', tool_calls: [{ id: 'c' }] };
  const refusal =
    'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...';
  expect(
    said(refusal, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'there' }] },
      { role: 'assistant', content: 'Well' },
      { role: 'assistant', content: 'hello' },
      call,
      { role: 'tool', tool_call_id: 'c', content: 'done' },
      { role: 'tool', tool_call_id: 'd', content: 'done' },
    ]),
  ).toEqual([
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi\n\nBe kind.' },
        { type: 'text', text: 'there' },
      ],
    },
    { role: 'assistant', content: 'Well\n\nhello' },
    call,
    { role: 'tool', tool_call_id: 'c', content: 'done' },
    { role: 'tool', tool_call_id: 'd', content: 'done' },
  ]);
});

test('Perplexity’s words for turns that have to alternate are known', () => {
  const refusal =
    'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).';
  const turn = (content: string) => ({ role: 'user', content });
  expect(said(refusal, [turn('Hi'), turn('there')])).toEqual([turn('Hi\n\nthere')]);
});

test('a template without system messages gets them from the user', () => {
  const conversation = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  expect(said('System role not supported', conversation)).toEqual([
    { role: 'user', content: 'Be brief.\n\nHi' },
  ]);
});

test.each(["Unexpected role 'system' after role 'user'", "Unexpected role 'user' after role 'tool'"])(
  'a template that refused an order of roles keeps the id of the user: %s',
  (refusal) => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
    const named = { ...body, user: 'u' };
    expect(rephrase(named, refusal, true)).toBeUndefined();
    expect(rephrase(named, "Unknown parameter: 'user'", true)).toEqual(body);
  },
);

test('a template that wants results answered gets an answer before what the user adds to them', () => {
  const refusal = "Unexpected role 'user' after role 'tool'";
  const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c' }, { id: 'd' }] };
  const results = ['c', 'd'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
  const user = { role: 'user', content: 'And?' };
  const messages = said(refusal, [user, call, ...results, user, user]);
  expect(messages).toEqual([user, call, ...results, { role: 'assistant', content: 'OK.' }, user, user]);
  expect(said(refusal, messages as Json[])).toBeUndefined();
});

test.each([
  'messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
  "invalid parameter 'messages[0].role': invalid role 'developer', must be one of: system, user, assistant, tool",
])(
  'a server without the developer role gets system messages, and only at the head if that is all it takes: %s',
  (refusal) => {
    const late = { role: 'system', content: 'Be kind.' };
    const user = { role: 'user', content: 'Hi' };
    expect(said(refusal, [{ role: 'developer', content: 'Be brief.' }, user, late])).toEqual([
      { role: 'system', content: 'Be brief.' },
      user,
      late,
    ]);
    expect(said(refusal, [user, late])).toBeUndefined();
  },
);

test.each([
  'Failed to deserialize the JSON body into the target type: messages[0]: invalid type: sequence, expected a string at line 1',
  'Input should be a valid string',
])('a server that takes text only as a string gets it so, and images unchanged: %s', (refusal) => {
  const picture = [
    { type: 'text', text: 'Look' },
    { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
  ];
  const text = (...texts: string[]) => texts.map((each) => ({ type: 'text', text: each }));
  expect(
    said(refusal, [
      { role: 'system', content: text('One.', 'Two.') },
      { role: 'user', content: picture },
      { role: 'tool', tool_call_id: 'c', content: text('done') },
    ]),
  ).toEqual([
    { role: 'system', content: 'One.\n\nTwo.' },
    { role: 'user', content: picture },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ]);
  expect(said(refusal, [{ role: 'user', content: 'Hi' }])).toBeUndefined();
});

test.each([
  "Invalid 'content': 'content' field must be a string or an array of objects.",
  "Expected 'content' to be a string or an array",
  "1 validation error: {'loc': ('body', 'messages', 1, 'content', 'str'), 'msg': 'Input should be a valid string'}",
])('a server that takes no null for the text beside a call gets an empty text: %s', (refusal) => {
  const call = { role: 'assistant', tool_calls: [{ id: 'c' }] };
  const user = { role: 'user', content: 'Hi' };
  const messages = said(refusal, [user, { ...call, content: null }]);
  expect(messages).toEqual([user, { ...call, content: '' }]);
  expect(said(refusal, [user, { ...call, content: '' }])).toBeUndefined();
});

test.each([
  "Invalid request: the message at position 1 with role 'assistant' must not be empty",
  'Assistant message must have either content or tool_calls, but not none.',
  'Invalid assistant message: content or tool_calls must be set',
])('a server that takes no empty answers gets none: %s', (refusal) => {
  const [first, last] = ['Hi', 'Go on.'].map((content) => ({ role: 'user', content }));
  const call = { role: 'assistant', content: '', tool_calls: [{ id: 'c' }] };
  const answer = { role: 'assistant', content: 'Hello' };
  const kept = [first ?? {}, call, { role: 'tool', tool_call_id: 'c', content: '' }, answer, last ?? {}];
  const thought = { role: 'assistant', content: '', reasoning_content: 'hm' };
  const empty = [thought, { role: 'assistant', content: null }, { role: 'assistant', content: [] }];
  expect(said(refusal, [...kept.slice(0, 4), ...empty, ...kept.slice(4)])).toEqual(kept);
  expect(said(refusal, kept)).toBeUndefined();
});

test.each([
  'Incorrect role information',
  '角色信息不正确',
  "messages.0.role: Input should be 'system', 'user', 'assistant' or 'tool'",
])('a server that does not name the role that it refuses gets the older one: %s', (refusal) => {
  const [older, newer] = ['system', 'developer'].map((role) => ({ role, content: 'Be brief.' }));
  expect(said(refusal, [newer ?? {}])).toEqual([older]);
  expect(said(refusal, [older ?? {}])).toBeUndefined();
});

test('a template that holds one call per answer gets parallel calls one after the other', () => {
  const refusal = 'This model only supports single tool-calls at once!';
  const [a, b] = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }));
  const result = (tool_call_id: string, content = 'x') => ({ role: 'tool', tool_call_id, content });
  const user = { role: 'user', content: 'Hi' };
  const both = { role: 'assistant', content: 'Let me see.', tool_calls: [a ?? {}, b ?? {}] };
  const single = [
    user,
    { ...both, tool_calls: [a ?? {}] },
    result('a'),
    { role: 'assistant', content: null, tool_calls: [b ?? {}] },
    result('b'),
  ];
  expect(said(refusal, [user, both, result('b'), result('a'), user])).toEqual([...single, user]);
  expect(said(refusal, single)).toBeUndefined();
  const twins = { role: 'assistant', content: null, tool_calls: [a ?? {}, a ?? {}] };
  expect(said(refusal, [twins, result('a', '1'), result('a', '2'), result('c')])).toEqual([
    { ...twins, tool_calls: [a] },
    result('a', '1'),
    { ...twins, tool_calls: [a] },
    result('a', '2'),
    result('c'),
  ]);
});

test('a server that takes names of users only gets results without the name of their function', () => {
  const refusal = 'Invalid request content: Only messages of role `user` can have a name.';
  const user = { role: 'user', name: 'ann', content: 'Hi' };
  const result = { role: 'tool', tool_call_id: 'c', content: 'done' };
  const messages = said(refusal, [user, { ...result, name: 'f' }]);
  expect(messages).toEqual([user, result]);
  expect(said(refusal, messages as Json[])).toBeUndefined();
});

test('a tokenizer that accepts ids of nine characters gets the same one for the same call', () => {
  const refusal = 'Tool call id was toolu_01AbC but must be a-z, A-Z, 0-9, with a length of 9.';
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const messages = said(refusal, [
    { role: 'assistant', content: null, tool_calls: [call('toolu_01AbC'), call('D681PevKs')] },
    { role: 'tool', tool_call_id: 'toolu_01AbC', content: 'a' },
    { role: 'tool', tool_call_id: 'D681PevKs', content: 'b' },
  ]) as JsonObject[];
  const id = messages[1]?.tool_call_id;
  expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect(messages[0]?.tool_calls).toEqual([call(String(id)), call('D681PevKs')]);
  expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'D681PevKs', content: 'b' });
  expect(said(refusal, messages)).toBeUndefined();
});

test.each(['call_D681PevKs', 'D681PevKs_2', 'D681Pev', ''])('an id that it does not accept: %s', (id) => {
  const refusal = 'Tool call ids should be of length 9';
  const [result] = said(refusal, [{ role: 'tool', tool_call_id: id, content: 'a' }]) as JsonObject[];
  expect(result?.tool_call_id).toMatch(/^[a-f0-9]{9}$/);
});

test.each(['messages[2].tool_calls[0].id', 'messages[2].tool_calls[12].id', 'messages[3].tool_call_id'])(
  'a server that takes no id of more than 40 characters gets a hash of it, for call and result: %s',
  (place) => {
    const refusal = `Invalid '${place}': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.`;
    const long = `chatcmpl-tool-${'0'.repeat(32)}`;
    const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
    const messages = said(refusal, [
      { role: 'assistant', content: null, tool_calls: [call(long), call('call_1')] },
      { role: 'tool', tool_call_id: long, content: 'a' },
      { role: 'tool', tool_call_id: 'call_1', content: 'b' },
    ]) as JsonObject[];
    const id = messages[1]?.tool_call_id;
    expect(id).toMatch(/^[a-f0-9]{40}$/);
    expect(messages[0]?.tool_calls).toEqual([call(String(id)), call('call_1')]);
    expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'call_1', content: 'b' });
    expect(said(refusal, messages)).toBeUndefined();
  },
);

test('images of a result stay with their call when it gets another id', () => {
  const refusal = 'Tool call id was toolu_1 but must be a-z, A-Z, 0-9, with a length of 9.';
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const label = { type: 'text', text: 'Output of tool call toolu_1:' };
  const others = [
    { role: 'user', content: label.text },
    { role: 'user', content: [image, 'odd', { type: 'text', text: 'Hi' }] },
    { role: 'assistant', content: [label] },
  ];
  const asked = [
    { role: 'tool', tool_call_id: 'toolu_1', content: '' },
    { role: 'user', content: [label, image] },
    ...others,
  ];
  const messages = said(refusal, asked) as JsonObject[];
  const text = `Output of tool call ${messages[0]?.tool_call_id}:`;
  expect(messages[1]).toEqual({ role: 'user', content: [{ type: 'text', text }, image] });
  expect(messages.slice(2)).toEqual(others);
});

const bareCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const signed = (signature: string) => ({ google: { thought_signature: signature } });

test.each([
  "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.tool_calls.0' : property 'extra_content' is unsupported)]",
  'messages.1.assistant.tool_calls.0.extra_content: Extra inputs are not permitted',
  "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.",
])('a server gets none of the signatures that another one put on its calls: %s', (refusal) => {
  const messages = said(refusal, [
    { role: 'assistant', content: 'Hm', extra_content: signed('s') },
    { role: 'assistant', content: null, tool_calls: [{ ...bareCall, extra_content: signed('s') }, bareCall] },
  ]);
  expect(messages).toEqual([
    { role: 'assistant', content: 'Hm' },
    { role: 'assistant', content: null, tool_calls: [bareCall, bareCall] },
  ]);
  expect(said(refusal, messages as Json[])).toBeUndefined();
});

test('nor the sealed thoughts of a router', () => {
  const refusal = "property 'reasoning_details' is unsupported";
  const answer = { role: 'assistant', content: null, tool_calls: [bareCall] };
  const sealed = [{ type: 'reasoning.encrypted', data: 's' }];
  expect(said(refusal, [{ ...answer, reasoning_details: sealed }])).toEqual([answer]);
  expect(said('reasoning_details are too long', [{ ...answer, reasoning_details: sealed }])).toBeUndefined();
});

test('a server of Gemini that misses signatures gets Google’s own for calls of other models', () => {
  const refusal =
    'Function call is missing a thought_signature in functionCall parts. Additional data, function call `default_api:f` , position 2.';
  const call = (signature: string) => ({ ...bareCall, extra_content: signed(signature) });
  const messages = said(refusal, [
    { role: 'assistant', content: null, tool_calls: [bareCall, bareCall] },
    { role: 'assistant', content: null, tool_calls: [call('s'), bareCall] },
  ]);
  expect(messages).toEqual([
    { role: 'assistant', content: null, tool_calls: [call('skip_thought_signature_validator'), bareCall] },
    { role: 'assistant', content: null, tool_calls: [call('s'), bareCall] },
  ]);
  expect(said(refusal, messages as Json[])).toBeUndefined();
});

test.each([
  'Corrupted thought signature.',
  'Invalid thought_signature',
  'messages.1.content.0: Invalid `signature` in `thinking` block',
  'messages.1.content.0: Invalid signature in thinking block',
])('a server that refuses what another one signed gets none of it: %s', (refusal) => {
  const amended = (messages: Json) => openai.client.servers.amend?.({ messages }, refusal)?.messages;
  const call = (signature: string) => ({ ...bareCall, extra_content: signed(signature) });
  const answer = (...calls: JsonObject[]) => ({ role: 'assistant', content: null, tool_calls: calls });
  const skipped = [answer(call('skip_thought_signature_validator'), bareCall)];
  const sealed = [{ type: 'reasoning.encrypted', data: 's' }];
  expect(amended([{ ...answer(call('s'), bareCall), reasoning_details: sealed }])).toEqual(skipped);
  expect(amended(skipped)).toEqual([answer(bareCall, bareCall)]);
  expect(amended([answer(bareCall, bareCall)])).toBeUndefined();
  expect(openai.client.servers.amend?.({ messages: skipped }, 'Invalid value')).toBeUndefined();
});

test('a server that misses thinking gets some in every answer, and no null text beside it', () => {
  const refusal = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
  const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const call = { role: 'assistant', content: null, tool_calls: calls };
  const all = said(refusal, [
    { ...call, reasoning_content: 'Hm.' },
    call,
    { role: 'assistant', content: 'Well', reasoning_content: 'Hm.' },
  ]);
  expect(all).toEqual([
    { ...call, content: '', reasoning_content: 'Hm.' },
    { ...call, content: '', reasoning_content: '' },
    { role: 'assistant', content: 'Well', reasoning_content: 'Hm.' },
  ]);
  expect(said(refusal, all as Json[])).toBeUndefined();
});

test('a model that accepts no setting for parallel calls gets none', () => {
  const refusal = "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.";
  const body = { model: 'o3', parallel_tool_calls: false };
  expect(rephrase(body, refusal, false)).toEqual({ model: 'o3' });
  expect(rephrase({ model: 'o3' }, refusal, false)).toBeUndefined();
});

test.each([
  'Argument not supported on this model: presencePenalty',
  "Unsupported parameter: 'presence_penalty' is not supported with this model.",
])('a penalty of 0, which asks for nothing, is left out for every client: %s', (refusal) => {
  const body = { model: 'm', presence_penalty: 0, frequency_penalty: 0 };
  expect(rephrase(body, refusal, false)).toEqual({ model: 'm', frequency_penalty: 0 });
  expect(rephrase({ ...body, presence_penalty: 0.5 }, refusal, false)).toBeUndefined();
});

describe('an answer that may not be streamed', () => {
  const streamed = { model: 'm', stream: true, stream_options: { include_usage: true } };
  const json = { response_format: { type: 'json_schema' } };
  const tools = { tools: [{ type: 'function', function: { name: 'f' } }] };
  const unverified =
    'Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings';

  test.each<[refusal: string, about: JsonObject]>([
    [unverified, {}],
    [
      "Unsupported value: 'stream' does not support true with this model. Only the default (false) is supported.",
      {},
    ],
    ['This model does not support streaming.', {}],
    ['`response_format` does not support streaming', json],
    ['Streaming and tool use are not currently supported with Structured Outputs', json],
    ['streaming is not supported when tools are given', tools],
  ])('comes whole: %s', (refusal, about) => {
    expect(rephrase({ ...streamed, ...about }, refusal, false)).toEqual({ model: 'm', ...about });
    expect(rephrase({ model: 'm', ...about }, refusal, false)).toBeUndefined();
  });

  test.each<[refusal: string, others: JsonObject]>([
    ['`response_format` does not support streaming', tools],
    ['streaming is not supported when tools are given', json],
    ['the upstream could not stream this answer', {}],
  ])('is streamed to requests that a refusal is not about: %s', (refusal, others) => {
    expect(rephrase({ ...streamed, ...others }, refusal, false)).toBeUndefined();
  });
});

describe('an answer as JSON', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const system = { role: 'system', content: 'Be brief.' };
  const user = { role: 'user', content: 'Hi' };
  const body = (response_format: JsonObject) => ({ model: 'm', messages: [system, user], response_format });
  const bySchema = body({ type: 'json_schema', json_schema: { name: 'response', schema } });
  const asWords = 'Answer with one valid JSON object and nothing else.';

  test.each([
    'This response_format type is unavailable now',
    'Failed to deserialize the JSON body: response_format.type `json_schema` is unavailable now at line 1',
    'This model does not support response format `json_schema`.',
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
  ])('has its schema in words where a server takes none, for a client of another format: %s', (refusal) => {
    const told = {
      role: 'system',
      content: `${asWords} It follows this JSON Schema: ${JSON.stringify(schema)}`,
    };
    const plain = { ...bySchema, messages: [system, told, user], response_format: { type: 'json_object' } };
    expect(rephrase(bySchema, refusal, true)).toEqual(plain);
    expect(rephrase(plain, refusal, true)).toBeUndefined();
    expect(rephrase(bySchema, refusal, false)).toBeUndefined();
  });

  test.each([
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
  ])('is asked for in words, too, where a server demands them: %s', (refusal) => {
    const asked = body({ type: 'json_object' });
    const told = { ...asked, messages: [system, { role: 'system', content: asWords }, user] };
    expect(rephrase(asked, refusal, true)).toEqual(told);
    expect(rephrase(told, refusal, true)).toBeUndefined();
    expect(rephrase({ ...asked, messages: [] }, refusal, true)).toMatchObject({
      messages: [{ content: asWords }],
    });
    expect(rephrase(asked, refusal, false)).toBeUndefined();
  });

  test.each([
    // OpenAI
    "Invalid schema for response_format 'response': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    'This response_format type is unavailable now',
  ])('has its schema in words alone if it is no object, and no setting can ask for that: %s', (refusal) => {
    const list = { type: 'array', items: { type: 'string' } };
    const asked = body({ type: 'json_schema', json_schema: { name: 'response', schema: list } });
    const content = `Answer with one valid JSON value and nothing else. It follows this JSON Schema: ${JSON.stringify(list)}`;
    expect(rephrase(asked, refusal, true)).toEqual({
      model: 'm',
      messages: [system, { role: 'system', content }, user],
    });
    expect(rephrase(asked, refusal, false)).toBeUndefined();
    const untyped = body({
      type: 'json_schema',
      json_schema: { name: 'response', schema: { anyOf: [schema] } },
    });
    expect(rephrase(untyped, refusal, true)).toMatchObject({ response_format: { type: 'json_object' } });
  });

  test.each([
    // LM Studio
    "'response_format.type' must be 'json_schema' or 'text'",
    // Perplexity
    '["At body -> response_format -> ResponseFormatText -> type: Input should be \'text\'", "At body -> response_format -> ResponseFormatJSONSchema -> type: Input should be \'json_schema\'"]',
  ])('is asked for in words alone where a server takes nothing but a schema: %s', (refusal) => {
    const { response_format, ...plain } = body({ type: 'json_object' });
    const asked = { ...plain, response_format };
    const told = { ...plain, messages: [system, { role: 'system', content: asWords }, user] };
    expect(rephrase(asked, refusal, true)).toEqual(told);
    expect(rephrase(told, refusal, true)).toBeUndefined();
    expect(rephrase(asked, refusal, false)).toBeUndefined();
    expect(rephrase(bySchema, refusal, true)).toBeUndefined();
  });

  describe('is asked for in words alone where a model has no JSON mode', () => {
    const noObject =
      "Invalid parameter: 'response_format' of type 'json_object' is not supported with this model.";
    const noSchema = noObject.replace('json_object', 'json_schema');
    const asked = body({ type: 'json_object' });
    const told = (content: string) => ({
      model: 'm',
      messages: [system, { role: 'system', content }, user],
    });

    test('for a client of another format', () => {
      expect(rephrase(asked, noObject, true)).toEqual(told(asWords));
      expect(rephrase(told(asWords), noObject, true)).toBeUndefined();
      expect(rephrase(asked, noObject, false)).toBeUndefined();
    });

    test.each([schema, { anyOf: [schema] }])(
      'which stand there once if it refused a schema, too: %j',
      (form) => {
        const bySchema = body({ type: 'json_schema', json_schema: { name: 'response', schema: form } });
        const worded = rephrase(bySchema, noSchema, true) ?? {};
        expect(worded.response_format).toEqual({ type: 'json_object' });
        const { response_format: _format, ...alone } = worded;
        expect(rephrase(worded, noObject, true)).toEqual(alone);
        const thinking = 'Json mode response is not supported when enable_thinking is true';
        expect(rephrase(worded, thinking, true)).toEqual(alone);
      },
    );

    test('which stand there once after the system messages became a part of a turn', () => {
      const worded = rephrase(bySchema, noSchema, true) ?? {};
      const joined = rephrase(worded, 'System role not supported', true) ?? {};
      const { response_format: _format, ...alone } = joined;
      expect(alone.messages).toHaveLength(1);
      expect(rephrase(joined, noObject, true)).toEqual(alone);
    });

    test('but not where it has none beside functions, of which there are none', () => {
      const besideTools = "'response_format' of type 'json_object' is not supported with tools";
      expect(rephrase(asked, besideTools, true)).toBeUndefined();
      expect(rephrase({ ...asked, tools: [] }, besideTools, true)).toEqual({ ...told(asWords), tools: [] });
    });
  });

  test('keeps the schema of an object where a server refused one of a list', () => {
    const refusal =
      "Invalid schema for response_format 'x': schema must be a JSON Schema of 'type: \"object\"'";
    expect(rephrase(bySchema, refusal, true)).toBeUndefined();
  });

  test('has its schema in words beside functions alone where a server takes none there', () => {
    const refusal = "'response_format' of type 'json_schema' is not supported with tools";
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect(rephrase({ ...bySchema, tools }, refusal, true)).toMatchObject({
      tools,
      response_format: { type: 'json_object' },
    });
    expect(rephrase(bySchema, refusal, true)).toBeUndefined();
  });

  test('is left as it is if the refusal is about something else', () => {
    expect(rephrase(bySchema, "Invalid schema for response_format 'response'", true)).toBeUndefined();
    expect(
      rephrase({ model: 'm', messages: [user] }, 'response_format is not supported', true),
    ).toBeUndefined();
  });
});

describe('a forced call', () => {
  const forced = { model: 'm', tools: [{ type: 'function' }], tool_choice: 'required' };
  const refusals = [
    'Thinking mode does not support this tool_choice',
    'The tool_choice parameter does not support being set to required or object in thinking mode',
    'Tool choice must be auto',
  ];

  test.each(refusals)('is left to the model for a client of another format: %s', (refusal) => {
    const { tool_choice, ...free } = forced;
    expect(rephrase(forced, refusal, true)).toEqual(free);
    expect(rephrase({ ...forced, tool_choice: { type: 'function' } }, refusal, true)).toEqual(free);
    expect(rephrase(free, refusal, true)).toBeUndefined();
    expect(rephrase(forced, refusal, false)).toBeUndefined();
  });

  test('is refused in one of its two ways only if the refusal names it', () => {
    const { tool_choice: required, ...free } = forced;
    const named = { ...free, tool_choice: { type: 'function', function: { name: 'f' } } };
    const vllm = 'tool_choice = "required" is not supported!';
    expect(rephrase(forced, vllm, true)).toEqual(free);
    expect(rephrase(named, vllm, true)).toBeUndefined();
    const moonshot = "tool_choice 'specified' is incompatible with thinking enabled";
    expect(rephrase(named, moonshot, true)).toEqual(free);
    expect(rephrase(forced, moonshot, true)).toBeUndefined();
  });

  test('of a certain function is forced by leaving only that one, where a server takes no name', () => {
    const refusal = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";
    const [f, g] = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));
    const named = { model: 'm', tools: [f ?? {}, g ?? {}], tool_choice: g ?? {} };
    for (const isForeign of [true, false])
      expect(rephrase(named, refusal, isForeign)).toEqual({
        model: 'm',
        tools: [g],
        tool_choice: 'required',
      });
    expect(rephrase({ ...named, tool_choice: 'required' }, refusal, true)).toBeUndefined();
    expect(rephrase({ ...named, tools: [f ?? {}] }, refusal, true)).toBeUndefined();
    expect(rephrase({ ...named, tool_choice: { type: 'allowed_tools' } }, refusal, true)).toBeUndefined();
  });

  test('is no choice that forbids calls or leaves them free', () => {
    for (const tool_choice of ['none', 'auto'])
      expect(rephrase({ ...forced, tool_choice }, refusals[0] ?? '', true)).toBeUndefined();
    expect(rephrase(forced, 'tool_choice names a function that is not declared', true)).toBeUndefined();
  });
});

describe('a setting that an answer can do without', () => {
  const body = { model: 'm', user: 'u', temperature: 0.2, presence_penalty: 1 };

  test.each([
    ['user', 'user: Extra inputs are not permitted'],
    ['user', 'Unrecognized request argument supplied: user'],
    ['user', "body.user: property 'body.user' is unsupported"],
    ['user', 'Invalid JSON payload received. Unknown name "user": Cannot find field.'],
    [
      'temperature',
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    ],
    ['temperature', "Unsupported parameter: 'temperature' is not supported with this model."],
    ['temperature', 'invalid temperature: only 1 is allowed for this model'],
    ['presence_penalty', 'Model grok-4 does not support parameter presencePenalty.'],
    ['presence_penalty', 'Argument not supported on this model: presencePenalty'],
    ['presence_penalty', 'body -> presence_penalty\n  Extra inputs are not permitted (type=extra_forbidden)'],
  ])('is left out for a client of another format: %s, %s', (name, refusal) => {
    const { [name]: refused, ...rest } = body as JsonObject;
    expect(refused).toBeDefined();
    expect(rephrase(body, refusal, true)).toEqual(rest);
    expect(rephrase(rest, refusal, true)).toBeUndefined();
    expect(rephrase(body, refusal, false)).toBeUndefined();
  });

  test.each([
    "'messages.1' : for 'role:user' the following must be satisfied[('messages.1' : property 'odd' is unsupported)]",
    'messages.0.user.name: Extra inputs are not permitted',
    'temperature: Input should be less than or equal to 1',
    'The user is not allowed to use this model.',
  ])('stays if the refusal is about something else: %s', (refusal) => {
    expect(rephrase(body, refusal, true)).toBeUndefined();
  });
});

describe('an effort', () => {
  const asked = (effort: string | undefined, refusal: string, more: JsonObject = {}) => {
    const body = { model: 'm', ...(effort !== undefined && { reasoning_effort: effort }), ...more };
    const other = rephrase(body, refusal, true);
    return other && (other.reasoning_effort ?? 'unsaid');
  };
  const sglang =
    "1 validation error: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh', 'ctx': {'expected': \"'low', 'medium' or 'high'\"}}";
  const azure =
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.";
  const groq = '`reasoning_effort` must be one of `none` or `default`';
  const ollama = `invalid reasoning value: 'minimal' (must be "high", "medium", "low", or "none")`;
  const thoughtless = '"qwen2.5:0.5b" does not support thinking';
  const unknown = "Unsupported parameter: 'reasoning_effort' is not supported with this model.";

  test.each([
    ['xhigh', sglang, 'high'],
    ['none', sglang, 'low'],
    ['minimal', azure, 'low'],
    ['max', azure, 'xhigh'],
    ['high', groq, 'unsaid'],
    ['minimal', ollama, 'low'],
    ['high', thoughtless, 'unsaid'],
    ['low', 'think value "low" is not supported for this model', 'unsaid'],
    ['high', unknown, 'unsaid'],
    ['high', 'Model grok-4 does not support parameter reasoningEffort.', 'unsaid'],
    ['none', "reasoning_effort 'none' is not allowed", 'unsaid'],
  ])(
    '%s that a server refuses becomes the nearest that it accepts, or none: %s',
    (effort, refusal, nearest) => {
      expect(asked(effort, refusal)).toBe(nearest);
    },
  );

  test.each([
    ['high', sglang],
    ['none', azure],
    ['none', groq],
    ['high', "reasoning_effort 'none' is not allowed"],
    [undefined, unknown],
    [undefined, thoughtless],
    ['high', 'Unrecognized request argument supplied: top_k'],
  ])('%s that it does not refuse stays: %s', (effort, refusal) => {
    expect(asked(effort, refusal)).toBeUndefined();
  });

  test('is none together with functions for a model that calls them only without reasoning', () => {
    const refusal =
      "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    const tools = { tools: [{ type: 'function' }] };
    expect(asked('high', refusal, tools)).toBe('none');
    expect(asked(undefined, refusal, tools)).toBe('none');
    expect(asked('none', refusal, tools)).toBeUndefined();
    expect(asked('high', refusal)).toBeUndefined();
  });

  test('that a client of the dialect asked for stays refused', () => {
    expect(rephrase({ model: 'm', reasoning_effort: 'xhigh' }, sglang, false)).toBeUndefined();
  });
});

describe('a template of Mistral', () => {
  const refusal =
    'Error: Jinja Exception: After the optional system message, conversation roles must alternate user/assistant/user/assistant/...';
  const user = { role: 'user', content: 'Hi' };
  const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] };
  const result = { role: 'tool', tool_call_id: 'c', content: 'done' };

  test('gets an answer between results and what the user adds, since it counts neither calls nor results', () => {
    const added = { role: 'user', content: 'And now?' };
    const reminder = { role: 'system', content: 'Mind.' };
    const answered = { role: 'assistant', content: 'OK.' };
    const next = said(refusal, [user, call, result, added, reminder]) ?? [];
    expect(next).toEqual([user, call, result, answered, { role: 'user', content: 'And now?\n\nMind.' }]);
    expect(said(refusal, Array.isArray(next) ? next : [])).toBeUndefined();
  });

  test('gets a conversation that the user begins', () => {
    const greeting = { role: 'assistant', content: 'Hello' };
    const told = { role: 'developer', content: 'Be brief.' };
    expect(said(refusal, [told, greeting, user])).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '…' },
      greeting,
      user,
    ]);
  });

  test('gets no instructions after its head', () => {
    const words =
      'Only user and assistant roles are supported, with the exception of an initial optional system message!';
    const late = { role: 'system', content: 'Mind.' };
    expect(said(words, [user, late])).toEqual([user, { ...late, role: 'user' }]);
  });

  test('gets ids of nine characters', () => {
    const words = 'Jinja Exception: Tool call IDs should be alphanumeric strings with length 9!';
    const next = said(words, [user, call, result]);
    expect(next).toMatchObject([
      user,
      { tool_calls: [{ id: expect.stringMatching(/^[a-z\d]{9}$/) }] },
      { tool_call_id: expect.stringMatching(/^[a-z\d]{9}$/) },
    ]);
    expect(said(words, Array.isArray(next) ? next : [])).toBeUndefined();
  });
});

test('a template of gpt-oss gets what precedes a call at the end of the thoughts', () => {
  const refusal =
    'Error: Jinja Exception: Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or the other, but not both.';
  const calls = { tool_calls: [{ id: 'c' }] };
  const thought = { role: 'assistant', reasoning_content: 'Hm.', reasoning: 'Hm.' };
  const parts = [
    { type: 'text', text: 'Let me' },
    { type: 'text', text: 'see.' },
  ];
  const picture = { type: 'image_url', image_url: { url: 'data:,' } };
  const silent = [
    { ...thought, content: null, ...calls },
    { ...thought, content: '', ...calls },
    { ...thought, content: [picture], ...calls },
    { ...thought, content: [...parts, picture], ...calls },
    { ...thought, content: [{ type: 'refusal', text: 'No.' }], ...calls },
    { role: 'assistant', content: 'Let me see.', ...calls },
    { role: 'assistant', reasoning: '', content: 'Let me see.', ...calls },
    { ...thought, content: 'Done.' },
    { ...thought, content: 'Done.', tool_calls: [] },
    { ...thought, role: 'user', content: 'Hi', ...calls },
  ];
  const joined = 'Hm.\n\nLet me see.';
  expect(
    said(refusal, [
      { ...thought, content: 'Let me see.', ...calls },
      { role: 'assistant', reasoning_content: 'Hm.', content: parts, ...calls },
      ...silent,
    ]),
  ).toEqual([
    { role: 'assistant', content: '', reasoning_content: joined, reasoning: joined, ...calls },
    { role: 'assistant', content: '', reasoning_content: 'Hm.\n\nLet me\n\nsee.', ...calls },
    ...silent,
  ]);
  expect(said(refusal, silent)).toBeUndefined();
  expect(said('The content is odd', [{ ...thought, content: 'Let me see.', ...calls }])).toBeUndefined();
});

test.each([
  'Invalid request content: Each message must have at least one content element.',
  'An empty message was provided. Every message needs at least one non-empty content element.',
])('xAI gets no answer without a content, and an empty one beside a call: %s', (refusal) => {
  const user = { role: 'user', content: 'Hi' };
  const calls = { tool_calls: [{ id: 'c' }] };
  const all = said(refusal, [
    user,
    { role: 'assistant', content: [], reasoning_content: 'Hm.' },
    { role: 'assistant', content: null, ...calls },
    { role: 'tool', tool_call_id: 'c', content: [] },
  ]);
  expect(all).toEqual([
    user,
    { role: 'assistant', content: '', ...calls },
    { role: 'tool', tool_call_id: 'c', content: '' },
  ]);
  expect(said(refusal, Array.isArray(all) ? all : [])).toBeUndefined();
});

test.each([
  // Cloudflare
  "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: Type mismatch of '/messages/0/content', 'array' not in 'string', Type mismatch of '/messages/1/content', 'string' not in 'null'",
  // Ollama
  'invalid message content type: <nil>',
  // Qwen
  "<400> InternalError.Algo.InvalidParameter: The content field's type should be `str` in messages.",
  // SambaNova
  "Unable to tokenize message with status code 400 for model DeepSeek-V3.1: Invalid 'content' type. Expected one of: ['str'], got list.",
  // Text Generation Inference, of null
  'Failed to deserialize the JSON body into the target type: messages[1]: missing field `content` at line 1 column 99',
  // Together, of null
  'Invalid JSON data: Failed to deserialize the JSON body into the target type: messages[1]: data did not match any variant of untagged enum MessageContent',
  // Older FastAPI, of null
  'messages.1.content: none is not an allowed value',
])('a server that takes only strings in other words gets strings: %s', (refusal) => {
  const call = { role: 'assistant', tool_calls: [{ id: 'c' }] };
  expect(
    said(refusal, [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { ...call, content: null },
    ]),
  ).toEqual([
    { role: 'user', content: 'Hi' },
    { ...call, content: '' },
  ]);
});

test('Qwen gets a wish for JSON in words alone while it thinks, from a client of another format', () => {
  const refusal =
    '<400> InternalError.Algo.InvalidParameter: Json mode response is not supported when enable_thinking is true';
  const user = { role: 'user', content: 'Hi' };
  const schema = { type: 'object' };
  const body = { messages: [user], response_format: { type: 'json_schema', json_schema: { schema } } };
  const content = `Answer with one valid JSON object and nothing else. It follows this JSON Schema: ${JSON.stringify(schema)}`;
  expect(rephrase(body, refusal, true)).toEqual({ messages: [{ role: 'system', content }, user] });
  expect(rephrase(body, refusal, false)).toBeUndefined();
  const plain = { messages: [user], response_format: { type: 'json_object' } };
  expect(rephrase(plain, refusal, true)).toEqual({
    messages: [{ role: 'system', content: 'Answer with one valid JSON object and nothing else.' }, user],
  });
  const text = { messages: [user], response_format: { type: 'text' } };
  expect(rephrase(text, refusal, true)).toBeUndefined();
});

test('Zhipu’s words for more than one stop string are known', () => {
  const { areRefused } = openai.client.servers.stopStrings;
  expect(areRefused?.('stop:最大只能有1个停止词')).toBe(true);
  expect(areRefused?.('stop: too long')).toBe(false);
});

test('Text Generation Inference’s words for more stop strings than it takes are known', () => {
  const { areRefused } = openai.client.servers.stopStrings;
  expect(areRefused?.('Input validation error: `stop` supports up to 2 stop sequences. Given: 3')).toBe(true);
});

test('Text Generation Inference gets no `top_p` that changes nothing', () => {
  const refusal = 'Input validation error: `top_p` must be > 0.0 and < 1.0';
  expect(rephrase({ model: 'm', top_p: 1 }, refusal, false)).toEqual({ model: 'm' });
  expect(rephrase({ model: 'm', top_p: 0 }, refusal, false)).toBeUndefined();
  expect(rephrase({ model: 'm' }, refusal, false)).toBeUndefined();
});

describe('a temperature outside of a server’s range, of a client of another format', () => {
  test('becomes the nearest that it takes', () => {
    const positive = 'Input validation error: `temperature` must be strictly positive';
    expect(rephrase({ temperature: 0 }, positive, true)).toEqual({ temperature: 0.01 });
    expect(rephrase({ temperature: 0 }, positive, false)).toBeUndefined();
    expect(rephrase({ temperature: 0.5 }, positive, true)).toBeUndefined();
    const least = 'temperature: Input should be less than or equal to 1';
    expect(rephrase({ temperature: 1.3 }, least, true)).toEqual({ temperature: 1 });
    expect(rephrase({ temperature: 1 }, least, true)).toBeUndefined();
    const between = 'invalid temperature: must be between 0 and 1.5';
    expect(rephrase({ temperature: 2 }, between, true)).toEqual({ temperature: 1.5 });
    expect(rephrase({ temperature: 0 }, between, true)).toBeUndefined();
    expect(rephrase({}, least, true)).toBeUndefined();
  });
});

describe('a server that refuses the strictness of functions', () => {
  const fn = (strict?: boolean) => ({
    type: 'function',
    function: { name: 'f', parameters: { type: 'object' }, ...(strict !== undefined && { strict }) },
  });

  test.each([
    // Cohere
    "unknown field: parameter 'strict' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat",
    // RouteLLM
    'Validation Error: "strict" - Extra inputs are not permitted',
    // Cerebras
    "Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'",
    'All function tools should have the same strictness.',
  ])('is not told of it by a client of another format: %s', (refusal) => {
    const body = { model: 'm', tools: [fn(true), fn(), fn(false), 'odd'] };
    const loose = { model: 'm', tools: [fn(), fn(), fn(), 'odd'] };
    expect(rephrase(body, refusal, true)).toEqual(loose);
    expect(rephrase(body, refusal, false)).toBeUndefined();
    expect(rephrase(loose, refusal, true)).toBeUndefined();
    expect(rephrase({ model: 'm' }, refusal, true)).toBeUndefined();
  });
});

test.each([
  // Text Generation Inference
  'Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`, expected one of `json`, `json_object`, `regex` at line 1 column 10',
  // Triton
  "response_format.type: Input should be 'text' or 'json_object'",
])('a server that knows no schemas of answers gets it in words: %s', (refusal) => {
  const schema = { type: 'object' };
  const user = { role: 'user', content: 'Hi' };
  const body = { messages: [user], response_format: { type: 'json_schema', json_schema: { schema } } };
  const content = `Answer with one valid JSON object and nothing else. It follows this JSON Schema: ${JSON.stringify(schema)}`;
  const worded = { messages: [{ role: 'system', content }, user], response_format: { type: 'json_object' } };
  expect(rephrase(body, refusal, true)).toEqual(worded);
  expect(rephrase(worded, refusal, true)).toBeUndefined();
  // The former takes no wish without a schema either.
  const missing = 'response_format: missing field `value` at line 1 column 10';
  expect(rephrase(worded, missing, true)?.response_format).toBeUndefined();
});

test('a forced call that OpenRouter finds no server for is left to the model', () => {
  const refusal =
    "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing";
  const body = { model: 'm', tools: [], tool_choice: 'required' };
  expect(rephrase(body, refusal, true)).toEqual({ model: 'm', tools: [] });
  expect(rephrase(body, refusal, false)).toBeUndefined();
});
