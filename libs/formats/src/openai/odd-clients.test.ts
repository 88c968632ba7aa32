import type { InferenceRequest, MediaPart, Message } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../test-refusal.ts';
import { encodeModel, encodeModelList } from './models.ts';
import { decodeRequest, encodeRequest } from './request/request.ts';

const user = { role: 'user', content: 'Hello' };

function decode(fields: object): InferenceRequest {
  const body = { model: 'm', messages: [user], ...fields };
  return decodeRequest({ path: '/v1/chat/completions', headers: {}, query: {}, requestId: 'r', body })
    .request;
}

const refusal = (fields: object): string => refusalOf(() => decode(fields)).message;

function encode(request: Partial<InferenceRequest>, model = 'm') {
  const whole = { model: 'm', messages: [], sampling: {}, ...request };
  return encodeRequest(whole, { model, stream: false, maxOutputTokens: 9 }).body;
}

test('a refusal that a client sends back is one for servers of its own dialect, and a text for others', () => {
  const { messages } = decode({
    messages: [user, { role: 'assistant', content: null, refusal: 'No.' }, user],
  });
  expect(messages[1]?.content).toMatchObject([{ type: 'text', text: 'No.' }]);
  expect(encode({ messages }).messages).toMatchObject([
    user,
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    user,
  ]);
});

describe('a bad field is refused with its place and what was expected:', () => {
  const asked = (content: unknown) => ({ messages: [{ role: 'user', content }] });
  const answered = (fields: object) => ({ messages: [user, { role: 'assistant', ...fields }] });

  test.each<[object, string]>([
    [{ messages: [{}] }, 'messages[0].role: is required'],
    [
      { messages: [{ role: 'x' }] },
      'messages[0].role: expected system, developer, user, assistant, tool or function',
    ],
    [{ messages: [{ role: 'system' }] }, 'messages[0].content: is required'],
    [
      { messages: [{ role: 'assistant', function_call: { name: 7 } }] },
      'messages[0].function_call.name: expected string, received number',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [7] }] },
      'messages[0].tool_calls[0]: expected object, received number',
    ],
    [{ tools: [7] }, 'tools[0]: expected object, received number'],
    [
      { stream_options: { include_usage: 1 } },
      'stream_options.include_usage: expected boolean, received number',
    ],
    [{ tools: [{ type: 1 }] }, 'tools[0].type: expected string, received number'],
    [
      { tools: [{ function: { name: 'f', parameters: 1 } }] },
      'tools[0].function.parameters: expected an object',
    ],
    [{ functions: [{ name: '' }] }, 'functions[0].name: Too small: expected string to have >=1 characters'],
    [{ response_format: {} }, 'response_format.type: is required'],
    [
      { response_format: { type: 'json_schema', json_schema: { schema: [] } } },
      'response_format.json_schema.schema: expected an object',
    ],
    [{ response_format: { type: 'json_object', schema: 1 } }, 'response_format.schema: expected an object'],
    [asked([{ type: 'refusal' }]), 'messages[0].content[0].refusal: is required'],
    [
      asked([{ type: 'image_url', image_url: { url: 'see https://x.test' } }]),
      'messages[0].content[0].image_url.url: expected an http, https or data URL',
    ],
    [
      asked([{ type: 'image_url', image_url: { url: 'data:image/png;base64' } }]),
      'messages[0].content[0].image_url.url: a data URL without a comma',
    ],
    [
      asked([{ type: 'image_url', image_url: { url: 'data:image/svg+xml,%zz' } }]),
      'messages[0].content[0].image_url.url: a data URL with a broken percent code',
    ],
    [
      asked([{ type: 'file', file: { file_data: 'data:x' } }]),
      'messages[0].content[0].file.file_data: a data URL without a comma',
    ],
    [asked([{ type: 'file', file: {} }]), 'messages[0].content[0].file: expected file_data or file_id'],
    [answered({ content: [{ type: 'text' }] }), 'messages[1].content[0].text: is required'],
    [answered({ tool_calls: [{}] }), 'messages[1].tool_calls[0].id: is required'],
    [
      { messages: [user, { role: 'tool', tool_call_id: 'a', content: [{ type: 'text' }] }] },
      'messages[1].content[0].text: is required',
    ],
    [
      { messages: [user, { role: 'function', name: 'f', content: [{ type: 'text' }] }] },
      'messages[1].content[0].text: is required',
    ],
    [{ tool_choice: 'maybe' }, 'tool_choice: expected none, auto, required or an object'],
    [{ tool_choice: {} }, 'tool_choice.type: expected function, custom or allowed_tools'],
    [{ tool_choice: { type: 'custom' } }, 'tool_choice.custom.name: is required'],
    [
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x', tools: [] } } },
      'tool_choice.allowed_tools.mode: Invalid option: expected one of "auto"|"required"',
    ],
    [
      {
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'custom' }] } },
      },
      'tool_choice.allowed_tools.tools[0]: expected a tool with a name',
    ],
  ])('%j', (fields, message) => {
    expect(refusal(fields)).toBe(message);
  });

  test('the branch of a union that got furthest reports the mistake', () => {
    expect(refusal({ stop: 1 })).toBe('stop: expected string or array');
    expect(refusal({ tool_choice: 1 })).toBe('tool_choice: expected string or an object');
    expect(refusal({ stop: ['a', 1] })).toBe('stop[1]: expected string, received number');
    expect(refusal({ function_call: { name: 7 } })).toBe(
      'function_call.name: expected string, received number',
    );
  });

  test('a body that is no object has no place', () => {
    const http = { path: '/', headers: {}, query: {}, requestId: 'r' };
    expect(() => decodeRequest({ ...http, body: 7 })).toThrow(
      expect.objectContaining({
        message: 'the body is not valid: expected object, received number',
        options: {},
      }),
    );
  });
});

describe('media', () => {
  const mediaOf = (part: object) =>
    decode({ messages: [{ role: 'user', content: [part] }] }).messages[0]?.content[0];
  const image = (url: string) => mediaOf({ type: 'image_url', image_url: { url } });
  const base64 = (mediaType: string, data: string) => ({
    type: 'media',
    mediaType,
    source: { type: 'base64', data },
  });

  test('in a data URL is read with or without type, parameters and space', () => {
    expect(image('DATA:image/PNG;base64,AA')).toEqual(base64('image/png', 'AA'));
    expect(image('data: image/png ;name=x; Base64 ,AA')).toEqual(base64('image/png', 'AA'));
    expect(image('data:;base64,AA')).toEqual(base64('image/*', 'AA'));
    expect(image('data:image/png;base64x,A')).toEqual(base64('image/png', 'QQ=='));
    expect(image('HTTPS://x.test/a')).toMatchObject({ source: { type: 'url', url: 'HTTPS://x.test/a' } });
  });

  test('of a file has the type that its name or its data say', () => {
    const file = (fields: object) => mediaOf({ type: 'file', file: fields });
    const pdf = { ...base64('application/pdf', 'AA'), filename: 'a.PDF' };
    expect(file({ file_data: 'AA', filename: 'a.PDF' })).toStrictEqual(pdf);
    expect(file({ file_data: 'AA', filename: 'pdf.txt' })).toMatchObject({
      mediaType: 'application/octet-stream',
    });
    expect(file({ file_data: 'AA' })).toStrictEqual(base64('application/octet-stream', 'AA'));
    expect(file({ file_data: 'data:text/plain;base64,AA', filename: null })).toStrictEqual(
      base64('text/plain', 'AA'),
    );
    expect(file({ file_id: 'f', detail: 1 })).toStrictEqual({
      type: 'media',
      mediaType: 'application/octet-stream',
      source: { type: 'file-id', id: 'f' },
      extensions: { openai: { file: { detail: 1 } } },
    });
  });

  test('of a file by a URL, which routers accept in place of data, stays one', () => {
    const url = 'https://x.test/A.PDF?page=1';
    const part = { type: 'file', file: { file_data: url, filename: 'a', detail: 1 } };
    const media = mediaOf(part);
    expect(media).toMatchObject({
      mediaType: 'application/pdf',
      source: { type: 'url', url },
      filename: 'a',
    });
    const user: Message = { role: 'user', content: [media as MediaPart] };
    expect(encode({ messages: [user] }).messages).toEqual([{ role: 'user', content: [part] }]);
    expect(mediaOf({ type: 'file', file: { file_data: 'http://x.test/a' } })).toMatchObject({
      mediaType: 'application/octet-stream',
      source: { type: 'url' },
    });
    // Once fetched, it is data like any other.
    const fetched = { ...(media as MediaPart), source: { type: 'base64' as const, data: 'AA' } };
    expect(encode({ messages: [{ role: 'user', content: [fetched] }] }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AA', filename: 'a', detail: 1 } },
        ],
      },
    ]);
  });

  test('of sound has the name that the other side knows', () => {
    const sound = (format: string) => mediaOf({ type: 'input_audio', input_audio: { data: 'AA', format } });
    expect(sound('mp3')).toStrictEqual(base64('audio/mpeg', 'AA'));
    expect(sound('wav')).toStrictEqual(base64('audio/wav', 'AA'));
    const said = (mediaType: string) => {
      const part: MediaPart = { type: 'media', mediaType, source: { type: 'base64', data: 'AA' } };
      return encode({ messages: [{ role: 'user', content: [part] }] }).messages;
    };
    for (const [mediaType, format] of [
      ['audio/mpeg', 'mp3'],
      ['audio/x-wav', 'wav'],
      ['audio/wave', 'wav'],
      ['audio/flac', 'flac'],
    ] as const) {
      expect(said(mediaType)).toEqual([
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA', format } }] },
      ]);
    }
  });

  test('of a file is given a name, and an id needs none', () => {
    const file = (part: Omit<MediaPart, 'type' | 'mediaType'>, mediaType = 'text/csv') =>
      encode({ messages: [{ role: 'user', content: [{ type: 'media', mediaType, ...part }] }] }).messages;
    const body = (file: object) => [{ role: 'user', content: [{ type: 'file', file }] }];
    const data = 'data:text/csv;base64,AA';
    expect(file({ source: { type: 'base64', data: 'AA' } })).toEqual(
      body({ file_data: data, filename: 'file' }),
    );
    expect(file({ source: { type: 'base64', data: 'AA' }, filename: 'a.csv' })).toEqual(
      body({ file_data: data, filename: 'a.csv' }),
    );
    const source = { type: 'file-id' as const, id: 'f' };
    expect(file({ source })).toStrictEqual(body({ file_id: 'f' }));
    expect(file({ source, filename: 'a.csv' })).toEqual(body({ file_id: 'f', filename: 'a.csv' }));
  });
});

test('null is absent inside of an output format and of a function, too', () => {
  const nulls = { name: null, schema: null, description: null, strict: null };
  expect(decode({ response_format: { type: 'json_schema', json_schema: nulls } }).output).toStrictEqual({
    type: 'json',
  });
  expect(decode({ response_format: { type: 'json_object', schema: null } }).output).toStrictEqual({
    type: 'json',
  });
  const whole = { name: 'n', schema: {}, description: 'd', strict: false };
  expect(decode({ response_format: { type: 'json_schema', json_schema: whole } }).output).toStrictEqual({
    type: 'json',
    ...whole,
  });
  const tools = [
    { function: { ...nulls, parameters: null, name: 'f' } },
    { type: null, function: { name: 'g' } },
  ];
  const parameters = { type: 'object', properties: {} };
  expect(decode({ tools }).tools).toStrictEqual([
    { type: 'function', name: 'f', parameters },
    { type: 'function', name: 'g', parameters },
  ]);
});

test('a schema or name makes a JSON answer one with a schema, and neither a plain one', () => {
  expect(encode({ output: { type: 'json' } }).response_format).toEqual({ type: 'json_object' });
  expect(encode({ output: { type: 'json', name: 'n' } }).response_format).toStrictEqual({
    type: 'json_schema',
    json_schema: { name: 'n' },
  });
  expect(encode({ output: { type: 'text' } }).response_format).toEqual({ type: 'text' });
});

test('a choice of a tool names the tool’s own type', () => {
  const custom = {
    type: 'opaque' as const,
    format: 'openai',
    value: { type: 'custom', custom: { name: 'sh' } },
  };
  const odd = { type: 'opaque' as const, format: 'openai', value: { type: 'web_search' } };
  const tools = [odd, custom, { type: 'function' as const, name: 'f', parameters: {} }];
  const choose = (name: string) => encode({ tools, toolChoice: { type: 'tool', name } }).tool_choice;
  expect(choose('sh')).toEqual({ type: 'custom', custom: { name: 'sh' } });
  expect(choose('f')).toEqual({ type: 'function', function: { name: 'f' } });
  expect(encode({ tools, toolChoice: { type: 'auto', allowed: ['f', 'sh'] } }).tool_choice).toEqual({
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'auto',
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'sh' } },
      ],
    },
  });
  const references = {
    mode: 'required',
    tools: [{ function: { name: 'f' } }, { type: 'custom', custom: { name: 'sh' } }],
  };
  expect(decode({ tool_choice: { type: 'allowed_tools', allowed_tools: references } }).toolChoice).toEqual({
    type: 'required',
    allowed: ['f', 'sh'],
  });
});

test('a choice that is one word may be written as an object, as in messages', () => {
  const choice = (tool_choice: object) => decode({ tool_choice }).toolChoice;
  for (const type of ['none', 'auto', 'required']) expect(choice({ type })).toEqual({ type });
  expect(choice({ type: 'any' })).toEqual({ type: 'required' });
});

test('the limit has its newer name for the models that demand it, and for no others', () => {
  const limit = (model: string) => Object.keys(encode({ sampling: { maxOutputTokens: 7 } }, model)).at(-1);
  for (const model of ['o1', 'o3-mini', 'org/o4', 'ft:o4-mini:acme::1', 'gpt-5', 'a/b/gpt-9.1']) {
    expect(limit(model)).toBe('max_completion_tokens');
  }
  for (const model of ['o1x', 'o0', 'zo1', 'gpt-4o', 'my-gpt-5', 'o10'])
    expect(limit(model)).toBe('max_tokens');
});

test('top_k is a whole number above 0, or a word for servers', () => {
  expect(decode({ top_k: 5 }).sampling).toEqual({ topK: 5 });
  for (const top_k of [0, -1, 1.5, '5']) {
    const request = decode({ top_k });
    expect(request.sampling).toEqual({});
    expect(request.extensions).toEqual({ openai: { top_k } });
  }
});

describe('the deprecated form', () => {
  test('gives its calls ids in order, and a result to the first open call of its name', () => {
    const call = (name: string) => ({
      role: 'assistant',
      content: null,
      function_call: { name, arguments: null },
    });
    const result = (name: string) => ({ role: 'function', name, content: 'x' });
    const { messages } = decode({
      messages: [
        user,
        call('f'),
        result('f'),
        call('f'),
        result('f'),
        result('g'),
        { ...result('f'), content: null },
      ],
    });
    const ids = messages.flatMap(({ content }) =>
      content.map((part) =>
        part.type === 'tool-call' ? part.id : part.type === 'tool-result' ? part.toolCallId : '',
      ),
    );
    expect(ids).toEqual(['', 'call_0', 'call_0', 'call_1', 'call_1', 'call_2', 'call_3']);
  });

  test('is as fast with many calls without results, and many results without calls', () => {
    const call = { role: 'assistant', function_call: { name: 'f' } };
    const result = { role: 'function', name: 'g', content: '' };
    const count = 200_000;
    // An eighth of them took 2 s.
    const many = [
      ...Array.from({ length: count }, () => call),
      ...Array.from({ length: count }, () => result),
    ];
    expect(decode({ messages: many }).messages).toHaveLength(count + 1);
  });

  test('turns parallel calls off and has its own words for the choice', () => {
    const functions = [{ name: 'f' }];
    expect(decode({ functions, parallel_tool_calls: true }).parallelToolCalls).toBe(false);
    expect(decode({ functions, function_call: 'none' }).toolChoice).toEqual({ type: 'none' });
    expect(decode({ functions, function_call: { name: 'f' } }).toolChoice).toEqual({
      type: 'tool',
      name: 'f',
    });
    expect(decode({ functions, function_call: 'none', tool_choice: 'any' }).toolChoice).toEqual({
      type: 'required',
    });
  });
});

describe('an assistant message', () => {
  const assistant = (fields: object) =>
    decode({ messages: [user, { role: 'assistant', ...fields }] }).messages[1];

  test('keeps a second thinking under the other name, and calls of other types', () => {
    expect(assistant({ reasoning_content: 'a', reasoning: 'b' })).toEqual({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'a' }],
    });
    expect(assistant({ reasoning_content: 'a', reasoning: { odd: 1 } })).toMatchObject({
      extensions: { openai: { reasoning: { odd: 1 } } },
    });
    expect(assistant({ content: 'a', reasoning: { odd: 1 } })).toMatchObject({
      content: [{ type: 'text', text: 'a' }],
      extensions: { openai: { reasoning: { odd: 1 } } },
    });
    const custom = { id: 'c', type: 'custom', custom: { name: 'sh', input: 'ls' } };
    const untyped = { id: 'd', type: null, function: { name: 'f', arguments: null } };
    expect(assistant({ tool_calls: [custom, untyped] })?.content).toEqual([
      { type: 'opaque', format: 'openai', value: custom },
      { type: 'tool-call', id: 'd', name: 'f', arguments: '' },
    ]);
  });

  test.each(['', ' ', 'null'])('has an empty object for arguments that are empty: %j', (args) => {
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }];
    const answer = assistant({ tool_calls: calls });
    expect(encode({ messages: answer ? [answer] : [] }).messages).toMatchObject([
      { tool_calls: [{ function: { arguments: '{}' } }] },
    ]);
  });

  test('has null for its text only if it calls', () => {
    const said = (content: Extract<Message, { role: 'assistant' }>['content']) =>
      encode({ messages: [{ role: 'assistant', content }] }).messages;
    const call = { type: 'tool-call' as const, id: 'a', name: 'f', arguments: '' };
    expect(said([])).toStrictEqual([{ role: 'assistant', content: '' }]);
    expect(said([call])).toStrictEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    ]);
    for (const value of [{ id: 'a' }, { id: 1, type: 'x', x: {} }, { id: 'a', type: 'x', x: 1 }]) {
      expect(said([{ type: 'opaque', format: 'openai', value }])).toStrictEqual([
        { role: 'assistant', content: [value] },
      ]);
    }
  });
});

test('images of two turns of results follow their own turn, even if it is the last', () => {
  const result = (id: string, isError = false): Message => ({
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: id,
        ...(isError && { isError }),
        content: [{ type: 'media', mediaType: 'image/png', source: { type: 'base64', data: id } }],
      },
    ],
  });
  const pictures = (id: string) => ({
    role: 'user',
    content: [
      { type: 'text', text: `Output of tool call ${id}:` },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${id}` } },
    ],
  });
  const between: Message = { role: 'user', content: [{ type: 'text', text: 'and?' }] };
  expect(encode({ messages: [result('a'), between, result('b', true)] }).messages).toEqual([
    { role: 'tool', tool_call_id: 'a', content: '' },
    pictures('a'),
    { role: 'user', content: 'and?' },
    { role: 'tool', tool_call_id: 'b', content: 'Error' },
    pictures('b'),
  ]);
});

test('a model is listed with its context, as self-hosted servers do', () => {
  const model = { id: 'm', displayName: 'M', createdAt: 1_999 };
  const listed = { id: 'm', object: 'model', created: 1, owned_by: 'sluice' };
  expect(encodeModelList([model])).toStrictEqual({ object: 'list', data: [listed] });
  expect(encodeModel({ ...model, contextTokens: 9 })).toStrictEqual({ ...listed, max_model_len: 9 });
});
