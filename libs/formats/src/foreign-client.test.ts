import type { JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { signThinking } from './anthropic/thinking/signature.ts';
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

describe.each(['anthropic', 'gemini'])('a server of %s', (dialect) => {
  /** The types of these images at the server, each inside of a message and inside of a result. */
  function typesOf(format: string, body: object): unknown {
    const text = JSON.stringify(sent(format, body, dialect, 'gemini-3-pro'));
    return Array.from(text.matchAll(/"(?:media_type|mimeType)":"([^"]+)"/g), ([, type]) => type);
  }
  const bytes = {
    png: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    jpeg: '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP8=',
    webp: 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=',
    odd: 'AAAAAAAA',
  };
  const url = (type: string, data: string) => ({
    type: 'image_url',
    image_url: { url: `data:${type};base64,${data}` },
  });

  test('gets the type that an image has by its bytes, whatever a client of another format calls it', () => {
    const content = [
      url('image/jpeg', bytes.png),
      url('image/jpg', bytes.jpeg),
      url('image/png', bytes.webp),
      url('', bytes.png),
      url('image/jpg', bytes.odd),
      url('image/bmp', bytes.odd),
    ];
    const known = ['image/png', 'image/jpeg', 'image/webp', 'image/png', 'image/jpeg', 'image/bmp'];
    expect(typesOf('openai', chat({ messages: [{ role: 'user', content }] }))).toEqual(known);
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const loop = [
      ...hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content },
    ];
    expect(typesOf('openai', chat({ messages: loop }))).toEqual(known);
  });

  test('gets the type that its own client gave', () => {
    const source = { type: 'base64', media_type: 'image/jpg', data: bytes.png };
    const own =
      dialect === 'anthropic'
        ? messages({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] })
        : generate({ contents: [{ parts: [{ inlineData: { mimeType: 'image/jpg', data: bytes.png } }] }] });
    expect(typesOf(dialect, own)).toEqual(['image/jpg']);
  });
});

describe('a Claude model', () => {
  const codingTool = generate({
    generationConfig: {
      ...{ temperature: 1, topP: 0.95, topK: 64 },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
    },
  });

  test('gets nothing together with thinking that it refuses there', () => {
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

  test('does not think for a client of generate content that asks only not to see it', () => {
    for (const thinkingConfig of [{ includeThoughts: false }, {}]) {
      const asked = generate({ generationConfig: { temperature: 0.3, thinkingConfig } });
      const body = sent('gemini', asked, 'anthropic', 'claude-sonnet-4-5');
      expect(body).not.toHaveProperty('thinking');
      expect(body.temperature).toBe(0.3);
    }
  });

  test('gets no thinking together with a forced call, nor without room for it', () => {
    const forced = { ...codingTool, toolConfig: { functionCallingConfig: { mode: 'ANY' } } };
    const offered = { ...forced, tools: [{ functionDeclarations: [{ name: 'f' }] }] };
    const called = sent('gemini', offered, 'anthropic', 'claude-sonnet-4-5');
    expect(called.tool_choice).toEqual({ type: 'any' });
    expect(called).not.toHaveProperty('thinking');
    const newer = sent('gemini', offered, 'anthropic', 'claude-opus-5-5');
    expect(newer).not.toHaveProperty('thinking');
    expect(newer.output_config).toEqual({ effort: 'medium' });
    const short = generate({
      generationConfig: { maxOutputTokens: 800, thinkingConfig: { thinkingBudget: 8192 } },
    });
    expect(sent('gemini', short, 'anthropic', 'claude-sonnet-4-5')).not.toHaveProperty('thinking');
    // Nor an effort, if it knows none.
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const hard = chat({ tools, tool_choice: 'required', reasoning_effort: 'high' });
    expect(sent('openai', hard, 'anthropic', 'claude-sonnet-4-5')).not.toHaveProperty('output_config');
  });

  test.each([
    ['claude-opus-4-6', 'max'],
    ['anthropic/claude-sonnet-4.6', 'max'],
    ['claude-opus-4-7', 'xhigh'],
    ['anthropic/claude-sonnet-5', 'xhigh'],
  ])('is asked for an effort that it knows: %s', (model, effort) => {
    const body = sent('openai', chat({ reasoning_effort: 'xhigh' }), 'anthropic', model);
    expect(body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort } });
    const own = { output_config: { effort: 'xhigh' } };
    expect(sent('anthropic', messages(own), 'anthropic', model)).toMatchObject(own);
  });

  test.each([
    ['anthropic/claude-sonnet-4.5', 'enabled'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'enabled'],
    ['anthropic/claude-opus-4.8', 'adaptive'],
    ['anthropic.claude-opus-4-6-v1', 'adaptive'],
  ])('thinks in its own form under the names that others give it: %s', (model, type) => {
    const body = sent('openai', chat({ reasoning_effort: 'high' }), 'anthropic', model);
    expect(body.thinking).toMatchObject({ type });
  });

  test('shows its thinking, which newer models do only when asked', () => {
    const thinking = (model: string) =>
      sent('openai', chat({ reasoning_effort: 'high' }), 'anthropic', model).thinking;
    expect(thinking('claude-opus-4-8')).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(thinking('claude-opus-4-6')).toEqual({ type: 'adaptive' });
    const hidden = generate({ generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } });
    expect(sent('gemini', hidden, 'anthropic', 'claude-opus-4-8').thinking).toMatchObject({
      display: 'omitted',
    });
    const own = { thinking: { type: 'adaptive' } };
    expect(sent('anthropic', messages(own), 'anthropic', 'claude-opus-4-8').thinking).toEqual(own.thinking);
  });

  test('that cannot stop thinking is asked for the least', () => {
    const body = sent(
      'openai',
      chat({ reasoning_effort: 'none' }),
      'anthropic',
      'anthropic/claude-fable-5.1',
    );
    expect(body).not.toHaveProperty('thinking');
    expect(body.output_config).toEqual({ effort: 'low' });
    const own = { thinking: { type: 'disabled' } };
    expect(sent('anthropic', messages(own), 'anthropic', 'claude-fable-5').thinking).toEqual(own.thinking);
  });

  test('gets an effort alone as a client of its own dialect sent it', () => {
    const own = { output_config: { effort: 'low' } };
    const body = sent('anthropic', messages(own), 'anthropic', 'claude-opus-4-5');
    expect(body).toMatchObject(own);
    expect(body).not.toHaveProperty('thinking');
  });

  test('gets a temperature or a top_p, not both', () => {
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

  test('is not asked to think between a call and its result without its earlier thinking', () => {
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

  test('gets what a client of its own dialect sent, except for a budget after thinking of ours', () => {
    const said = {
      thinking: { type: 'enabled', budget_tokens: 2000 },
      temperature: 0.2,
      top_p: 0.5,
      top_k: 3,
    };
    const model = 'claude-opus-4-7';
    expect(sent('anthropic', messages(said), 'anthropic', model)).toMatchObject(said);
    const loop = (thinking: object[], id: string) =>
      messages({
        ...said,
        messages: [
          ...hello,
          { role: 'assistant', content: [...thinking, { type: 'tool_use', id, name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] },
        ],
      });
    const thought = (signature: string) => [{ type: 'thinking', thinking: 'hm', signature }];
    const asked = (thinking: object[], id = 'toolu_01', name = model) =>
      sent('anthropic', loop(thinking, id), 'anthropic', name).thinking;
    expect(asked([])).toEqual(said.thinking);
    expect(asked(thought('its own'))).toEqual(said.thinking);
    expect(asked(thought('c2x1aWNlLzEvMg=='))).toBeUndefined();
    // Nor does it know which model made a call.
    expect(asked([], 'call_1')).toBeUndefined();
    expect(asked(thought('its own'), 'call_1')).toEqual(said.thinking);
    expect(asked([], 'call_1', 'glm-5')).toEqual(said.thinking);
  });

  test('is declared the called tools of a conversation that continues without tools, and may call none', () => {
    const called = (name: string) => ({
      id: `c${name}`,
      type: 'function',
      function: { name, arguments: '{}' },
    });
    const history = [
      ...hello,
      { role: 'assistant', tool_calls: [called('f'), called('g')] },
      ...['f', 'g'].map((name) => ({ role: 'tool', tool_call_id: `c${name}`, content: 'done' })),
      { role: 'user', content: 'Sum it up.' },
    ];
    const body = chat({ messages: history });
    expect(sent('openai', body, 'anthropic', 'claude-sonnet-5')).toMatchObject({
      tools: ['f', 'g'].map((name) => ({ name, input_schema: { type: 'object' } })),
      tool_choice: { type: 'none' },
    });
    expect(sent('openai', body, 'anthropic', 'qwen')).not.toHaveProperty('tools');
    expect(sent('openai', chat({}), 'anthropic', 'claude-sonnet-5')).not.toHaveProperty('tools');
  });

  test('gets an answer’s schema in the form that it accepts, in the client’s order', () => {
    const name = { type: 'STRING', minLength: '2', description: 'A name' };
    const responseSchema = {
      type: 'OBJECT',
      properties: {
        name: { ...name, nullable: true },
        tags: {
          type: 'ARRAY',
          minItems: '1',
          maxItems: '9',
          items: { type: 'OBJECT', properties: { a: name } },
        },
        when: {
          anyOf: [
            { type: 'STRING', format: 'date' },
            { type: 'STRING', format: 'moon' },
          ],
        },
      },
      required: ['name'],
    };
    const asked = generate({ generationConfig: { responseMimeType: 'application/json', responseSchema } });
    const schemaFor = (model: string) => {
      const { output_config } = sent('gemini', asked, 'anthropic', model);
      return (output_config as { format: { schema: JsonObject } }).format.schema;
    };
    const described = { description: 'A name\n\n{minLength: 2}' };
    const closed = { additionalProperties: false };
    const wanted = {
      type: 'object',
      properties: {
        name: { type: ['string', 'null'], ...described },
        tags: {
          type: 'array',
          minItems: 1,
          items: { type: 'object', properties: { a: { type: 'string', ...described } }, ...closed },
          description: '{maxItems: 9}',
        },
        when: {
          anyOf: [
            { type: 'string', format: 'date' },
            { type: 'string', description: '{format: "moon"}' },
          ],
        },
      },
      required: ['name'],
      ...closed,
    };
    expect(JSON.stringify(schemaFor('claude-sonnet-5'))).toBe(JSON.stringify(wanted));
    expect(schemaFor('qwen')).toMatchObject({ properties: { name: { minLength: 2 } } });
    expect(schemaFor('qwen')).not.toHaveProperty('additionalProperties');
  });

  test('gets a recursive schema in words, and any other as a setting', () => {
    const node = (child: object) => ({
      type: 'object',
      properties: { child, next: { $ref: '#/$defs/leaf' }, last: { $ref: '#/$defs/leaf' } },
    });
    const $defs = (child: object) => ({ leaf: { type: 'string' }, node: node(child) });
    const asked = (schema: object, model = 'claude-opus-5-5') =>
      sent(
        'openai',
        chat({ response_format: { type: 'json_schema', json_schema: { schema } } }),
        'anthropic',
        model,
      );
    const tree = { $defs: $defs({ $ref: '#/$defs/node' }), ...node({ $ref: '#/$defs/node' }) };
    for (const schema of [tree, node({ type: 'array', items: { $ref: '#' } })]) {
      expect(asked(schema)).not.toHaveProperty('output_config');
      expect(JSON.stringify(asked(schema).system)).toContain(
        JSON.stringify(JSON.stringify(schema)).slice(1, -1),
      );
      expect(asked(schema, 'glm-5')).toHaveProperty('output_config.format.schema', schema);
    }
    const plain = { $defs: $defs({ $ref: '#/$defs/leaf' }), ...node({ $ref: '#/$defs/node' }) };
    expect(asked(plain)).toHaveProperty('output_config.format');
    expect(asked(plain)).not.toHaveProperty('system');
    expect(asked(node({ $ref: 'https://example.org/x' }))).toHaveProperty('output_config.format');
  });

  test('gets a schema with fields of any name in words, since it could only answer them with nothing', () => {
    const asked = (schema: object) =>
      sent(
        'openai',
        chat({ response_format: { type: 'json_schema', json_schema: { schema } } }),
        'anthropic',
        'claude-x',
      );
    const holding = (field: object) => ({ type: 'object', properties: { field } });
    const text = { type: 'string' };
    for (const open of [
      { type: 'object', additionalProperties: text },
      { type: ['object', 'null'], properties: { a: text }, additionalProperties: text },
      { type: 'object', patternProperties: { '^x-': text } },
      { type: 'object', properties: {}, additionalProperties: {} },
      { type: 'object' },
      { type: 'array', items: { type: 'object' } },
      { oneOf: [text, { type: 'object', additionalProperties: true }] },
    ]) {
      const body = asked(holding(open));
      expect(body).not.toHaveProperty('output_config');
      expect(JSON.stringify(body.system)).toContain(JSON.stringify(JSON.stringify(open)).slice(1, -1));
    }
    for (const closed of [
      { type: 'object', properties: {} },
      { type: 'object', additionalProperties: false },
      { type: 'object', properties: { a: text }, additionalProperties: true },
      { type: 'object', properties: { additionalProperties: text } },
      { enum: [{ type: 'object' }] },
    ]) {
      expect(asked(holding(closed))).toHaveProperty('output_config.format.schema.properties.field');
      expect(asked(holding(closed))).not.toHaveProperty('system');
    }
  });

  test('is asked in words for what a schema describes, and for an object if there is none', () => {
    const asked = (response_format: object) =>
      JSON.stringify(sent('openai', chat({ response_format }), 'anthropic', 'claude-x').system);
    const schema = { type: 'array', items: { type: 'object' } };
    expect(asked({ type: 'json_schema', json_schema: { schema } })).toContain('one valid JSON value');
    expect(asked({ type: 'json_object' })).toContain('one valid JSON object');
  });

  test('gets a strict function with fields of any name unchanged, so that it refuses the strictness', () => {
    const parameters = { type: 'object', properties: { labels: { type: 'object' } } };
    const tools = [{ type: 'function', function: { name: 'f', strict: true, parameters } }];
    const body = sent('openai', chat({ tools }), 'anthropic', 'claude-opus-5-5');
    expect(body.tools).toEqual([{ name: 'f', input_schema: parameters, strict: true }]);
  });

  test('gets a strict function’s schema in the form that it accepts, and any other unchanged', () => {
    const parameters = {
      type: 'object',
      properties: { days: { type: 'integer', minimum: 1, description: 'How many.' } },
      required: ['days'],
    };
    const declared = (strict: boolean) => [{ type: 'function', function: { name: 'f', strict, parameters } }];
    const body = (strict: boolean, model: string) =>
      sent('openai', chat({ tools: declared(strict) }), 'anthropic', model).tools;
    const days = { type: 'integer', description: 'How many.\n\n{minimum: 1}' };
    const closed = { ...parameters, properties: { days }, additionalProperties: false };
    expect(body(true, 'claude-opus-5-5')).toEqual([{ name: 'f', input_schema: closed, strict: true }]);
    expect(body(false, 'claude-opus-5-5')).toEqual([{ name: 'f', input_schema: parameters, strict: false }]);
    expect(body(true, 'glm-5')).toEqual([{ name: 'f', input_schema: parameters, strict: true }]);
  });

  test('gets a prompt of nothing but instructions as the user’s', () => {
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
  test('gets its own thinking back unsigned, since some models refuse a call without it', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const loop = chat({
      messages: [
        ...hello,
        { role: 'assistant', reasoning_content: 'Hm.', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ],
    });
    const answer = (model: string) =>
      (sent('openai', loop, 'anthropic', model).messages as JsonObject[])[1]?.content;
    const use = { type: 'tool_use', id: 'c', name: 'f', input: {} };
    expect(answer('kimi-k3')).toEqual([{ type: 'thinking', thinking: 'Hm.', signature: '' }, use]);
    expect(answer('claude-sonnet-5')).toEqual([use]);
    // The same holds for a client of its own dialect, whose signature is ours.
    const thought = { type: 'thinking', thinking: 'Hm.', signature: signThinking(3) };
    const own = messages({ messages: [...hello, { role: 'assistant', content: [thought, use] }, ...hello] });
    const sentBack = sent('anthropic', own, 'anthropic', 'deepseek-v4').messages as JsonObject[];
    expect(sentBack[1]?.content).toEqual([{ ...thought, signature: '' }, use]);
  });

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
  test('gets nothing about tools if a client of another format has none', () => {
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

describe('a function that leaves out what OpenAI’s API demands', () => {
  const parametersOf = (input_schema: object, model = 'an-azure-deployment') => {
    const { tools } = sent('anthropic', messages({ tools: [{ name: 'f', input_schema }] }), 'openai', model);
    return (tools as { function: { parameters: JsonObject } }[])[0]?.function.parameters;
  };

  test.each(['gpt-4.1', 'an-azure-deployment'])('has its properties, even if there are none: %s', (model) => {
    expect(parametersOf({ type: 'object' }, model)).toEqual({ type: 'object', properties: {} });
  });

  test('has its type, unless alternatives tell it', () => {
    const declared = (parametersJsonSchema: object) => {
      const body = generate({ tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema }] }] });
      const { tools } = sent('gemini', body, 'openai', 'an-azure-deployment');
      return (tools as { function: { parameters: JsonObject } }[])[0]?.function.parameters;
    };
    expect(declared({})).toEqual({ type: 'object', properties: {} });
    expect(declared({ properties: { a: {} } })).toEqual({ type: 'object', properties: { a: {} } });
    for (const schema of [{ anyOf: [{ type: 'object' }] }, { $ref: '#/$defs/a' }])
      expect(declared(schema)).toEqual(schema);
  });

  test.each([
    String.raw`^(?!__.*__$)[^\p{Cc}\p{Cf}"\\./[\]]{1,200}$`,
    String.raw`^(?<year>\d{4})$`,
    String.raw`\u{1F600}`,
  ])('has a pattern in words that Python does not read: %s', (pattern) => {
    const properties = {
      a: { type: 'string', pattern, description: 'A name.' },
      b: { type: 'string', pattern },
    };
    const told = `{pattern: ${JSON.stringify(pattern)}}`;
    expect(parametersOf({ type: 'object', properties })?.properties).toEqual({
      a: { type: 'string', description: `A name.\n\n${told}` },
      b: { type: 'string', description: told },
    });
  });

  test('has no exclusion whose pattern Python does not read, which would exclude everything without it', () => {
    const name = { type: 'string', not: { pattern: String.raw`\p{Cc}` } };
    const other = { type: 'string', not: { pattern: '^x' } };
    const list = { not: { type: 'array', items: {} } };
    expect(
      parametersOf({ type: 'object', properties: { name, other, list: { not: { type: 'array' } } } })
        ?.properties,
    ).toEqual({
      name: { type: 'string' },
      other,
      list,
    });
  });

  test.each([String.raw`^(?!x)[\w\s\d\-/]+\.\u00e4$`, String.raw`\\p`, '^[a-z]+$'])(
    'has any other pattern: %s',
    (pattern) => {
      const properties = { a: { type: 'string', pattern } };
      expect(parametersOf({ type: 'object', properties })?.properties).toEqual(properties);
    },
  );

  test('has the items of every array', () => {
    const list = { type: 'array' };
    const pair = { type: 'array', prefixItems: [list] };
    const properties = {
      a: list,
      b: { anyOf: [{ type: ['array', 'null'] }] },
      c: pair,
      d: { default: list },
    };
    const items = {};
    expect(parametersOf({ type: 'object', properties, additionalProperties: list })).toEqual({
      type: 'object',
      properties: {
        a: { ...list, items },
        b: { anyOf: [{ type: ['array', 'null'], items }] },
        c: { type: 'array', prefixItems: [{ ...list, items }] },
        d: { default: list },
      },
      additionalProperties: { ...list, items },
    });
  });

  test('stays as it is, for a client of the dialect as well', () => {
    const schema = { type: 'object', properties: { a: { type: 'array', items: true } }, required: ['a'] };
    expect(JSON.stringify(parametersOf(schema))).toBe(JSON.stringify(schema));
    const own = { function: { name: 'f', parameters: { type: 'object' } } };
    expect(sent('openai', chat({ tools: [own] }), 'openai', 'gpt-4.1').tools).toMatchObject([own]);
  });
});

describe('a server of chat completions that knows no choice among some tools', () => {
  const declared = ['f', 'g', 'h'].map((name) => ({ name }));
  const choose = (mode: string, ...allowedFunctionNames: string[]) => {
    const toolConfig = { functionCallingConfig: { mode, allowedFunctionNames } };
    const body = generate({ tools: [{ functionDeclarations: declared }], toolConfig });
    const { tools, tool_choice } = sent('gemini', body, 'openai', 'm');
    return [(tools as { function: { name: string } }[]).map((tool) => tool.function.name), tool_choice];
  };

  test('is told only of those, and must call one or may', () => {
    expect(choose('ANY', 'f', 'h')).toEqual([['f', 'h'], 'required']);
    expect(choose('VALIDATED', 'f', 'h')).toEqual([['f', 'h'], 'auto']);
  });

  test('is told of all if none is excluded', () => {
    expect(choose('ANY')).toEqual([['f', 'g', 'h'], 'required']);
    expect(choose('ANY', 'g')[0]).toEqual(['f', 'g', 'h']);
  });
});

describe('a GPT model', () => {
  const codingTool = generate({
    generationConfig: {
      ...{ temperature: 1, topP: 0.95, topK: 64, presencePenalty: 0.5, maxOutputTokens: 100 },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
    },
  });
  const settings = ['temperature', 'top_p', 'top_k', 'presence_penalty', 'reasoning_effort'];
  const taken = (model: string) => {
    const body = sent('gemini', codingTool, 'openai', model);
    return settings.filter((setting) => body[setting] !== undefined);
  };

  test.each(['gpt-4.1', 'gpt-4o-mini', 'openai/gpt-4o', 'gpt-5-chat-latest', 'ft:gpt-4o:acme::1'])(
    'that does not reason gets nothing about reasoning: %s',
    (model) => expect(taken(model)).toEqual(['temperature', 'top_p', 'presence_penalty']),
  );

  test.each(['o3', 'o4-mini', 'gpt-5', 'openai/gpt-5.2-codex', 'gpt-6'])(
    'that reasons gets no sampling settings: %s',
    (model) => expect(taken(model)).toEqual(['reasoning_effort']),
  );

  test.each(['gpt-oss-120b', 'openai/gpt-oss-20b', 'qwen', 'opus'])(
    'of another vendor gets every setting: %s',
    (model) => expect(taken(model)).toEqual(settings),
  );

  test('is asked for an effort that it knows', () => {
    const effort = (asked: string, model: string) =>
      sent('anthropic', messages({ output_config: { effort: asked } }), 'openai', model).reasoning_effort;
    const off = (model: string) =>
      sent('anthropic', messages({ thinking: { type: 'disabled' } }), 'openai', model).reasoning_effort;
    const strongest = (model: string) => effort('max', model);
    expect(['o3', 'gpt-5-mini', 'gpt-5.1', 'gpt-5.4', 'gpt-6.2-astra', 'gpt-6-sol'].map(strongest)).toEqual([
      ...['high', 'high', 'high', 'xhigh', 'xhigh', 'max'],
    ]);
    expect(['o3', 'gpt-5-mini', 'gpt-5.1', 'gpt-6-astra', 'gpt-6-sol', 'gpt-4.1', 'qwen'].map(off)).toEqual([
      ...['low', 'minimal', 'none', 'low', 'none', undefined, 'none'],
    ]);
    expect(sent('openai', chat({ reasoning_effort: 'max' }), 'openai', 'o3').reasoning_effort).toBe('max');
  });

  test('gets no thinking of another model', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'E' };
    const said = { role: 'assistant', content: [thinking, { type: 'text', text: 'Yes.' }] };
    const turns = messages({ messages: [...hello, said, ...hello] });
    const answer = (model: string) => (sent('anthropic', turns, 'openai', model).messages as JsonObject[])[1];
    expect(answer('gpt-4-turbo')).toEqual({ role: 'assistant', content: 'Yes.' });
    expect(answer('gpt-5')).toEqual({ role: 'assistant', content: 'Yes.' });
    const thought = { reasoning_content: 'Hm.', reasoning: 'Hm.' };
    expect(answer('gpt-oss-120b')).toEqual({ role: 'assistant', content: 'Yes.', ...thought });
    const own = { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' };
    expect(sent('openai', chat({ messages: [own] }), 'openai', 'gpt-4').messages).toEqual([
      { ...own, ...thought },
    ]);
  });

  test('from 5.4 on is kept from reasoning if it may call functions, as its API demands', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object', properties: {} } }];
    const effort = (model: string, body: object) =>
      sent('anthropic', messages(body), 'openai', model).reasoning_effort;
    const high = { output_config: { effort: 'high' } };
    for (const model of ['gpt-5.4', 'openai/gpt-5.6-terra', 'gpt-5.10', 'gpt-6']) {
      expect(effort(model, { ...high, tools })).toBe('none');
      expect(effort(model, { tools })).toBe('none');
      expect(effort(model, high)).toBe('high');
    }
    for (const model of ['gpt-5', 'gpt-5.2', 'o4-mini', 'gpt-oss-120b'])
      expect(effort(model, { ...high, tools })).toBe('high');
    const own = { reasoning_effort: 'high', tools: [{ type: 'function', function: { name: 'f' } }] };
    expect(sent('openai', chat(own), 'openai', 'gpt-5.4').reasoning_effort).toBe('high');
  });

  test('gets a user’s id as a hash if it is longer than allowed', () => {
    const user = (id: string) =>
      String(sent('anthropic', messages({ metadata: { user_id: id } }), 'openai', 'gpt-5').user);
    const long = JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' });
    expect(user(long)).toMatch(/^[0-9a-f]{64}$/);
    expect(user(long)).toBe(user(long));
    expect(user(long)).not.toBe(user(`${long} `));
    expect(user('u'.repeat(64))).toBe('u'.repeat(64));
    expect(sent('openai', chat({ user: long }), 'openai', 'gpt-5').user).toBe(long);
  });
});

describe('a Gemini model', () => {
  const thinking = (format: string, body: object, model: string) => {
    const { generationConfig } = sent(format, body, 'gemini', model);
    return (generationConfig as JsonObject | undefined)?.thinkingConfig;
  };
  const effort = (asked: string, model: string) =>
    thinking('openai', chat({ reasoning_effort: asked }), model);

  test('is asked to think in the form that it knows', () => {
    const all = { includeThoughts: true };
    expect(effort('high', 'gemini-2.5-pro')).toEqual({ ...all, thinkingBudget: 24_576 });
    expect(effort('max', 'gemini-2.5-pro')).toEqual({ ...all, thinkingBudget: 32_768 });
    expect(effort('max', 'gemini-2.5-flash-lite')).toEqual({ ...all, thinkingBudget: 24_576 });
    expect(effort('low', 'gemini-2.5-flash')).toEqual({ ...all, thinkingBudget: 1024 });
    for (const strong of ['high', 'xhigh', 'max']) {
      expect(effort(strong, 'gemini-3.1-pro')).toEqual({ ...all, thinkingLevel: 'HIGH' });
      expect(effort(strong, 'other')).toEqual({ ...all, thinkingLevel: 'HIGH' });
    }
    expect(effort('minimal', 'gemini-3.1-pro')).toEqual({ ...all, thinkingLevel: 'LOW' });
    for (const model of [
      'gemini-3-flash',
      'gemini-3.1-flash-lite',
      'gemini-3.5-flash',
      'gemini-flash-lite-latest',
    ]) {
      expect(effort('minimal', model)).toEqual({ ...all, thinkingLevel: 'MINIMAL' });
    }
    for (const model of [
      'gemini-3.6-flash',
      'gemini-3.7-flash',
      'gemini-3.8-flash-preview',
      'gemini-flash-latest',
    ]) {
      expect(effort('minimal', model)).toEqual({ ...all, thinkingLevel: 'LOW' });
    }
    for (const model of ['gemini-2.0-flash', 'gemini-1.5-pro', 'gemini-2.5-flash-image']) {
      expect(effort('high', model)).toBeUndefined();
    }
  });

  test('gets each call after a turn of the user or after results, as its API demands', () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
    const results = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'r' });
    const turnsOf = (said: object[]) =>
      (sent('openai', chat({ messages: said }), 'gemini', 'gemini-2.5-pro').contents as JsonObject[]).map(
        ({ role, parts }) => [role, ...(parts as JsonObject[]).flatMap((part) => Object.keys(part))],
      );
    const say = { role: 'assistant', content: 'Let me see.' };
    const look = { role: 'assistant', tool_calls: [call('c')] };
    expect(turnsOf([...hello, say, look, results('c'), say])).toEqual([
      ['user', 'text'],
      ['model', 'text', 'functionCall'],
      ['user', 'functionResponse'],
      ['model', 'text'],
    ]);
    // A window over a long conversation may begin anywhere.
    expect(turnsOf([{ role: 'system', content: 'Be kind.' }, look, results('c'), ...hello])).toEqual([
      ['user', 'text'],
      ['model', 'functionCall'],
      ['user', 'functionResponse', 'text'],
    ]);
    expect(turnsOf([say, ...hello])).toEqual([
      ['model', 'text'],
      ['user', 'text'],
    ]);
  });

  test('gets a seed of 32 bits, which differs where the client’s differs', () => {
    const seedFor = (format: string, seed: number): unknown => {
      const wish = format === 'openai' ? chat({ seed }) : generate({ generationConfig: { seed } });
      return sent(format, wish, 'gemini', 'gemini-2.5-pro').generationConfig;
    };
    for (const seed of [0, 7, -7, 2_147_483_647]) expect(seedFor('openai', seed)).toEqual({ seed });
    const [now, later] = [1_795_239_125_000, 1_795_239_125_001];
    expect(seedFor('openai', now)).toEqual({ seed: now & 0x7fff_ffff });
    expect(seedFor('openai', later)).toEqual({ seed: later & 0x7fff_ffff });
    expect(seedFor('gemini', now)).toEqual({ seed: now });
  });

  test('that cannot stop thinking is asked for the least, and not to show it', () => {
    const hidden = { includeThoughts: false };
    expect(effort('none', 'gemini-2.5-flash')).toEqual({ ...hidden, thinkingBudget: 0 });
    expect(effort('none', 'gemini-2.5-pro')).toEqual({ ...hidden, thinkingBudget: 128 });
    expect(effort('none', 'gemini-3-flash')).toEqual({ ...hidden, thinkingLevel: 'MINIMAL' });
    expect(effort('none', 'gemini-3-pro')).toEqual({ ...hidden, thinkingLevel: 'LOW' });
    expect(effort('none', 'gemini-3.7-flash')).toEqual({ ...hidden, thinkingLevel: 'LOW' });
    expect(effort('none', 'gemini-flash-latest')).toEqual({ ...hidden, thinkingLevel: 'LOW' });
  });

  test('that knows levels gets one instead of a budget', () => {
    const level = (body: object) => thinking('anthropic', messages(body), 'gemini-3-pro');
    const budget = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } });
    expect(level(budget(1024))).toEqual({ includeThoughts: true, thinkingLevel: 'LOW' });
    expect(level(budget(10_000))).toEqual({ includeThoughts: true, thinkingLevel: 'MEDIUM' });
    expect(level(budget(31_999))).toEqual({ includeThoughts: true, thinkingLevel: 'HIGH' });
    expect(level({ ...budget(31_999), output_config: { effort: 'low' } })).toMatchObject({
      thinkingLevel: 'LOW',
    });
  });

  test('gets a budget within its bounds, and no penalty of 0', () => {
    const budget = (tokens: number, model: string) =>
      thinking('anthropic', messages({ thinking: { type: 'enabled', budget_tokens: tokens } }), model);
    expect(budget(31_999, 'gemini-2.5-flash')).toMatchObject({ thinkingBudget: 24_576 });
    expect(budget(64_000, 'other')).toMatchObject({ thinkingBudget: 64_000 });
    const penalties = chat({ frequency_penalty: 0, presence_penalty: 0.5 });
    expect(sent('openai', penalties, 'gemini', 'gemini-2.5-pro').generationConfig).toEqual({
      presencePenalty: 0.5,
    });
    const own = generate({
      generationConfig: { frequencyPenalty: 0, thinkingConfig: { thinkingLevel: 'HIGH' } },
    });
    expect(sent('gemini', own, 'gemini', 'gemini-2.5-pro').generationConfig).toMatchObject({
      frequencyPenalty: 0,
      thinkingConfig: { thinkingLevel: 'HIGH' },
    });
  });

  test('that refuses JSON together with tools is asked for it in words', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const asked = chat({
      messages: [{ role: 'system', content: 'Be kind.' }, ...hello],
      tools: [{ type: 'function', function: { name: 'f' } }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    });
    const old = sent('openai', asked, 'gemini', 'gemini-2.5-pro');
    expect(old).not.toHaveProperty('generationConfig');
    const [kind, instruction] = (old.systemInstruction as { parts: { text: string }[] }).parts;
    expect(kind).toEqual({ text: 'Be kind.' });
    expect(instruction?.text).toContain(JSON.stringify(schema));
    const recent = sent('openai', asked, 'gemini', 'gemini-3-pro');
    expect(recent.generationConfig).toMatchObject({ responseJsonSchema: schema });
    expect(recent.systemInstruction).toEqual({ parts: [{ text: 'Be kind.' }] });
    const alone = sent('openai', { ...asked, tools: [] }, 'gemini', 'gemini-2.5-pro');
    expect(alone.generationConfig).toMatchObject({ responseJsonSchema: schema });
  });

  test('gets files without their names, which not every version of its API knows', () => {
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' };
    const document = { type: 'document', source: pdf, title: 'a.pdf' };
    const body = messages({
      messages: [
        { role: 'user', content: [document] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'see', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [document] }] },
      ],
    });
    for (const model of ['gemini-2.5-pro', 'gemini-3-pro']) {
      const said = JSON.stringify(sent('anthropic', body, 'gemini', model));
      expect(said.match(/"inlineData":\{"mimeType":"application\/pdf","data":"AAAA"\}/g)).toHaveLength(2);
    }
  });

  test('gets a response in every result, and images inside if it accepts them there', () => {
    const data = 'iVBORw0KGgo=';
    const result = (id: string, ...content: object[]) => ({ type: 'tool_result', tool_use_id: id, content });
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const use = (id: string) => ({ type: 'tool_use', id, name: 'see', input: {} });
    const body = messages({
      messages: [
        ...hello,
        { role: 'assistant', content: [use('a'), use('b'), use('c')] },
        {
          role: 'user',
          content: [result('a', picture), result('b'), result('c', { type: 'text', text: 'no' }, picture)],
        },
      ],
    });
    const parts = (model: string) => {
      const [, , turn] = sent('anthropic', body, 'gemini', model).contents as { parts: JsonObject[] }[];
      return turn?.parts;
    };
    const see = (id: string, output: string, more: object = {}) => ({
      functionResponse: { id, name: 'see', response: { output }, ...more },
    });
    const inline = { inlineData: { mimeType: 'image/png', data } };
    expect(parts('gemini-2.5-pro')).toEqual([see('a', ''), inline, see('b', ''), see('c', 'no'), inline]);
    const inside = { parts: [inline] };
    expect(parts('gemini-3-pro')).toEqual([see('a', '', inside), see('b', ''), see('c', 'no', inside)]);
  });

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

  test('gets the first call of every step signed as made elsewhere, if it demands signatures', () => {
    const signatures = (model: string) =>
      callsOf(sent('openai', steps, 'gemini', model)).map((part) => part.thoughtSignature);
    const word = 'skip_thought_signature_validator';
    expect(signatures('gemini-3.1-pro-preview')).toEqual([word, undefined, word]);
    expect(signatures('gemini-flash-latest')).toEqual([word, undefined, word]);
    expect(signatures('gemini-2.5-pro')).toEqual([undefined, undefined, undefined]);
    expect(signatures('other')).toEqual([undefined, undefined, undefined]);
  });

  test('gets a step signed that a client of its own dialect repeats from another model’s answer', () => {
    const step = (signature: object) => ({
      role: 'model',
      parts: [
        { text: 'Both.' },
        { functionCall: { id: 'a', name: 'f', args: {} }, ...signature },
        { functionCall: { id: 'b', name: 'f', args: {} } },
      ],
    });
    const calls = (signature: object, model: string) =>
      callsOf(sent('gemini', { contents: [step(signature)] }, 'gemini', model));
    const word = 'skip_thought_signature_validator';
    expect(calls({}, 'gemini-3-pro').map((part) => part.thoughtSignature)).toEqual([word, undefined]);
    expect(calls({ thoughtSignature: 's' }, 'gemini-3-pro')[0]?.thoughtSignature).toBe('s');
    expect(calls({}, 'gemini-2.5-pro')[0]).not.toHaveProperty('thoughtSignature');
  });

  test('gets a tool choice only if there are functions to choose from', () => {
    const choice = { tool_choice: 'auto' };
    expect(sent('openai', chat({ tools: [], ...choice }), 'gemini', 'gemini-3.7-flash')).not.toHaveProperty(
      'toolConfig',
    );
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect(sent('openai', chat({ tools, ...choice }), 'gemini', 'gemini-3.7-flash').toolConfig).toEqual({
      functionCallingConfig: { mode: 'AUTO' },
    });
    const own = { toolConfig: { functionCallingConfig: { mode: 'NONE' } } };
    expect(sent('gemini', generate(own), 'gemini', 'gemini-3.7-flash')).toMatchObject(own);
  });

  test('gets no empty instruction', () => {
    const silent = chat({ messages: [{ role: 'system', content: '' }, ...hello] });
    expect(sent('openai', silent, 'gemini', 'gemini-3.7-flash')).not.toHaveProperty('systemInstruction');
    const own = { systemInstruction: { parts: [{ text: '' }] } };
    expect(sent('gemini', generate(own), 'gemini', 'gemini-3.7-flash')).toMatchObject(own);
  });

  test('gets no empty text, but the words of a client of its own dialect unchanged', () => {
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

test.each([
  ['anthropic', 'claude-opus-5-5', 'glm-5'],
  ['openai', 'gpt-5', 'qwen3'],
])('a function’s alternatives are described to a model of %s that refuses them', (dialect, maker, other) => {
  const parametersJsonSchema = { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }] };
  const tools = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema }] }];
  const told = (model: string) => JSON.stringify(sent('gemini', generate({ tools }), dialect, model).tools);
  expect(told(maker)).toContain(
    '"type":"object","properties":{"a":{"type":"string"}},"description":"{anyOf: ',
  );
  expect(told(maker)).not.toContain('"anyOf"');
  expect(told(other)).toContain('"anyOf":[');
});

describe('what is said between the results of a step', () => {
  const result = (id: string) => ({ functionResponse: { id, name: 'f', response: { output: id } } });
  const call = (id: string) => ({ functionCall: { id, name: 'f', args: {} } });
  const picture = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
  const contents = [
    { role: 'user', parts: [{ text: 'Look.' }] },
    { role: 'model', parts: [call('a'), call('b')] },
    { role: 'user', parts: [result('a'), picture, { text: 'of a' }, result('b'), picture, { text: 'of b' }] },
    { role: 'user', parts: [{ text: 'And?' }] },
  ];

  test('stays in its place in their turn, for a server of generate content', () => {
    expect(sent('gemini', { contents }, 'gemini', 'gemini-2.5-pro').contents).toEqual(contents);
  });

  test('follows all of them, for servers of the other dialects', () => {
    const wire = sent('gemini', { contents }, 'openai', 'm').messages as JsonObject[];
    expect(wire.map(({ role, tool_call_id }) => tool_call_id ?? role)).toEqual([
      ...['user', 'assistant', 'a', 'b', 'user', 'user', 'user'],
    ]);
    const [, , turn] = sent('gemini', { contents }, 'anthropic', 'm').messages as { content: JsonObject[] }[];
    expect(turn?.content.map(({ type, tool_use_id }) => tool_use_id ?? type)).toEqual([
      ...['a', 'b', 'image', 'text', 'image', 'text', 'text'],
    ]);
  });
});

test('a conversation that names calls by their functions keeps each with its result', () => {
  const step = (name: string, content: string) => [
    {
      role: 'assistant',
      tool_calls: [{ id: 'call-1', type: 'function', function: { name, arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call-1', content },
  ];
  const turns = chat({ messages: [...hello, ...step('first', 'one'), ...step('second', 'two')] });
  const claude = JSON.stringify(sent('openai', turns, 'anthropic', 'claude-sonnet-4-5').messages);
  expect(claude.match(/"(?:id|tool_use_id)":"[^"]*"/g)).toEqual([
    '"id":"call-1"',
    '"tool_use_id":"call-1"',
    '"id":"call-1_2"',
    '"tool_use_id":"call-1_2"',
  ]);
  const gemini = JSON.stringify(sent('openai', turns, 'gemini', 'gemini-2.5-pro').contents);
  expect(gemini.match(/"name":"[^"]*"/g)).toEqual([
    '"name":"first"',
    '"name":"first"',
    '"name":"second"',
    '"name":"second"',
  ]);
});
