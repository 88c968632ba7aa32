import type { GenerationEvent, InferenceRequest, Json, JsonObject, Message } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../test-refusal.ts';
import { createStreamEncoder } from './answer/stream-encode.ts';
import { normalizeFields } from './casing.ts';
import { encodeModelList } from './models.ts';
import { parsePath } from './path.ts';
import { CallLedger } from './request/calls.ts';
import { decodeRequest, encodeRequest } from './request/request.ts';
import { decodeSchema, spellsOrder } from './request/schema.ts';

const hello = { role: 'user', parts: [{ text: 'Hello' }] };

function decoded(fields: JsonObject, action = 'generateContent') {
  const body = { contents: [hello], ...fields };
  const path = `/v1beta/models/m:${action}`;
  return decodeRequest({ path, headers: {}, query: {}, requestId: 'r', body });
}
const decode = (fields: JsonObject) => decoded(fields).request;
const messagesOf = (...contents: JsonObject[]) => decode({ contents }).messages;
const configured = (generationConfig: JsonObject) => decode({ generationConfig });

function encode(request: Partial<InferenceRequest>): JsonObject {
  const target = { model: 'm', stream: true, maxOutputTokens: 9 };
  return encodeRequest({ model: 'm', messages: [], sampling: {}, ...request }, target).body;
}

const refusal = (attempt: () => unknown): string => refusalOf(attempt).message;

describe('a bad field is refused with its place and what was expected:', () => {
  test.each<[JsonObject, string]>([
    [{ contents: [] }, 'contents: too small: expected array to have >=1 items'],
    [{ contents: 7 }, 'contents[0]: expected object, received number'],
    [{ contents: [{ role: 'x', parts: [] }] }, 'contents[0].role: expected one of user, model, function'],
    [{ contents: [{ parts: [{ text: 7 }] }] }, 'contents[0].parts[0].text: expected string, received number'],
    [
      { contents: [{ parts: [{ text: 'a', fileData: { fileUri: 'b' } }] }] },
      'contents[0].parts[0]: only one of text, fileData in a part',
    ],
    [
      { contents: [{ parts: [{ functionResponse: {} }] }] },
      'contents[0].parts[0].functionResponse.name: expected a name or an id of a call',
    ],
    [
      { contents: [{ parts: [{ functionResponse: { name: 'f', parts: [{ text: 7 }] } }] }] },
      'contents[0].parts[0].functionResponse.parts[0].text: expected string, received number',
    ],
    [
      { contents: [{ role: 'user', parts: [{ text: 'a' }, { functionCall: { name: 'f' } }] }] },
      'contents[0].parts[1].functionCall: a call must be in a turn of role model',
    ],
    [
      { systemInstruction: { parts: [{ text: 'a' }, { fileData: { fileUri: 'b' } }] } },
      'systemInstruction.parts[1]: a system instruction holds text only',
    ],
    [
      { tools: [{ functionDeclarations: [{ name: 'f', parameters: {}, parametersJsonSchema: {} }] }] },
      'tools[0].functionDeclarations[0].parametersJsonSchema: only one of parameters and parametersJsonSchema',
    ],
    [
      { toolConfig: { functionCallingConfig: { mode: 'x' } } },
      'toolConfig.functionCallingConfig.mode: expected one of AUTO, ANY, NONE, VALIDATED',
    ],
    [
      { toolConfig: { functionCallingConfig: { mode: 7 } } },
      'toolConfig.functionCallingConfig.mode: expected string, received number',
    ],
    [
      { toolConfig: { functionCallingConfig: { allowedFunctionNames: [7] } } },
      'toolConfig.functionCallingConfig.allowedFunctionNames[0]: expected string, received number',
    ],
    [
      { generationConfig: { responseSchema: {}, responseJsonSchema: {} } },
      'generationConfig.responseJsonSchema: only one of responseSchema and responseJsonSchema',
    ],
    [{ generationConfig: { responseSchema: [] } }, 'generationConfig.responseSchema: expected an object'],
    [
      { generationConfig: { thinkingConfig: { includeThoughts: 1 } } },
      'generationConfig.thinkingConfig.includeThoughts: expected boolean, received number',
    ],
  ])('%j', (fields, message) => {
    expect(refusal(() => decode(fields))).toBe(message);
  });

  test('a count names the request that it counts', () => {
    expect(refusal(() => decoded({ generateContentRequest: { contents: [] } }, 'countTokens'))).toBe(
      'generateContentRequest.contents: too small: expected array to have >=1 items',
    );
    const counted = { generateContentRequest: { contents: { parts: { text: 'b' } } } };
    expect(decoded(counted, 'countTokens').request.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
    ]);
  });

  test('a body that is no object, a path without a model, and a model that is no text', () => {
    const http = { path: '/v1beta/models/m:generateContent', headers: {}, query: {}, requestId: 'r' };
    expect(refusal(() => decodeRequest({ ...http, body: [] }))).toBe('the body must be a JSON object');
    expect(refusal(() => parsePath('/v1/models/:generateContent'))).toBe('the path names no model');
    expect(refusal(() => parsePath('/v1/models/m:x'))).toBe(
      'no such action of a model: the path ends in :generateContent, :streamGenerateContent or :countTokens',
    );
    expect(refusal(() => parsePath('/v1/models/%ff:generateContent'))).toBe(
      'the model in the path is not percent-encoded UTF-8',
    );
  });
});

describe('numbers', () => {
  test('may be text, as protobuf writes them, but text that is no number is refused', () => {
    expect(configured({ seed: '-5', temperature: '0.25', topK: '40' }).sampling).toEqual({
      seed: -5,
      temperature: 0.25,
      topK: 40,
    });
    for (const seed of ['5x', 'x5', '1.', '.5', '1.2.3', '', ' 5', 'true']) {
      expect(refusal(() => configured({ seed }))).toBe(
        'generationConfig.seed: expected number, received string',
      );
    }
    expect(refusal(() => configured({ seed: '1.5' }))).toMatch(/^generationConfig\.seed: expected int/);
    expect(refusal(() => configured({ seed: true }))).toMatch(/received boolean$/);
  });
});

describe('names', () => {
  test('are read in snake_case, except in the caller’s own data', () => {
    const own = { a_b: null, c: [{ d_e: null }] };
    const written = {
      system_instruction: { parts: [{ text: 'a', inline_data: null, part_metadata: own }] },
      contents: [
        { parts: [{ function_call: { name: 'f', args: own } }] },
        { parts: [{ function_response: { name: 'f', response: own } }] },
      ],
      tools: [
        { function_declarations: [{ parameters: own, response: own }, { parameters_json_schema: own }] },
        { mcp_servers: [{ streamable_http_transport: { headers: own } }] },
        { parallel_ai_search: { custom_configs: own } },
      ],
      generation_config: { response_schema: own, response_json_schema: own, top_k: null },
      labels: own,
      new_field: [{ new_schema: { properties: own, min_items: null } }],
    };
    expect(normalizeFields(written)).toEqual({
      systemInstruction: { parts: [{ text: 'a', partMetadata: own }] },
      contents: [
        { parts: [{ functionCall: { name: 'f', args: own } }] },
        { parts: [{ functionResponse: { name: 'f', response: own } }] },
      ],
      tools: [
        { functionDeclarations: [{ parameters: own, response: own }, { parametersJsonSchema: own }] },
        { mcpServers: [{ streamableHttpTransport: { headers: own } }] },
        { parallelAiSearch: { customConfigs: own } },
      ],
      generationConfig: { responseSchema: own, responseJsonSchema: own },
      labels: own,
      newField: [{ newSchema: { properties: own } }],
    });
  });

  test('of another spelling are left as they are', () => {
    for (const name of ['_a', 'A_b', 'a_', 'a__b', 'a_B', 'a_b!', '!a_b', 'a-b', '9_a']) {
      expect(normalizeFields({ [name]: 1 })).toEqual({ [name]: 1 });
    }
    expect(normalizeFields({ a_b_c: 1, dE_f: 2, a_1: 3 })).toEqual({ aBC: 1, dEF: 2, a1: 3 });
    expect(Object.keys(normalizeFields(JSON.parse('{ "__proto__": { "a": 1 }, "b": 2 }')) ?? {})).toEqual([
      'b',
    ]);
  });
});

describe('a schema', () => {
  /** The schema in a request that was written with some of its values changed. */
  const rewritten = (schema: JsonObject, change: (name: string, value: Json) => Json): JsonObject =>
    JSON.parse(JSON.stringify(schema), change);

  test('whose types are in upper case reads as in lower case', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        lines: {
          type: 'array',
          items: { type: 'object', properties: { type: { type: ['string', 'null'] } } },
          contains: { type: 'object' },
          unevaluatedItems: { type: 'null' },
        },
        size: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false },
        place: { type: 'array', items: [{ type: 'number' }, true] },
        payment: { oneOf: [{ type: 'string' }, { type: 'object' }], not: { type: 'boolean' } },
        note: { anyOf: [{ type: 'string' }, { allOf: [{ type: 'integer' }, { minimum: 3 }] }] },
        kind: { type: 'string', enum: ['STRING'], default: { type: 'DATA' }, example: [{ type: 'DATA' }] },
      },
      patternProperties: { '^x-': { type: 'string' } },
      additionalProperties: { type: 'number' },
      unevaluatedProperties: { type: 'string' },
      propertyNames: { type: 'string' },
      dependentSchemas: { note: { type: 'object' } },
      if: { type: 'object' },
      ...Object.fromEntries([['then', { type: 'object' }]]),
      else: { type: 'object' },
      $defs: { line: { type: 'string' }, any: true },
      definitions: { line: { type: 'string' } },
    };
    const inUpperCase = (value: Json): Json => (typeof value === 'string' ? value.toUpperCase() : value);
    const written = rewritten(schema, (name, value) => {
      if (name !== 'type') return value;
      return Array.isArray(value) ? value.map(inUpperCase) : inUpperCase(value);
    });
    expect(written).not.toEqual(schema);
    expect(decodeSchema(written)).toEqual(schema);
  });

  test('whose types are numbers, as protobuf’s REST clients write them, reads as one with words', () => {
    const types = [1, 2, 3, 4, 5, 6, 7].map((type) => decodeSchema({ type }).type);
    expect(types).toEqual(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
    expect(decodeSchema({ type: 0, anyOf: [{ type: 5, items: { type: 1 } }] })).toEqual({
      anyOf: [{ type: 'array', items: { type: 'string' } }],
    });
  });

  test('keeps malformed parts as they are', () => {
    const schemas: JsonObject[] = [
      { anyOf: { type: 'STRING' } },
      { properties: [{ type: 'STRING' }] },
      { type: 70 },
    ];
    for (const schema of schemas) expect(decodeSchema(schema)).toEqual(schema);
    expect(decodeSchema({ type: ['STRING', 7] })).toEqual({ type: ['string', 7] });
  });

  test('whose counts are text, as protobuf writes them, reads as one with numbers', () => {
    const schema: JsonObject = {
      minProperties: 1,
      maxProperties: 12,
      properties: { names: { minItems: 1, maxItems: 20, items: { minLength: 2, maxLength: 305 } } },
    };
    const written = rewritten(schema, (_name, value) => (typeof value === 'number' ? String(value) : value));
    expect(decodeSchema(written)).toEqual(schema);
    for (const minItems of ['1x', 'x1', '', true]) expect(decodeSchema({ minItems })).toEqual({ minItems });
  });

  test('may have its own keywords in snake_case, and leaves others as they are', () => {
    const written = { any_of: [{ type: 'STRING' }], max_length: '3', min_value: 1 };
    expect(decodeSchema(written)).toEqual({ anyOf: [{ type: 'string' }], maxLength: 3, min_value: 1 });
  });

  test('without properties to order loses the order', () => {
    const property_ordering = ['b', 7, 'a'];
    expect(decodeSchema({ property_ordering })).toEqual({});
    expect(JSON.stringify(decodeSchema({ property_ordering, properties: { a: {}, b: {} } }))).toBe(
      '{"properties":{"b":{},"a":{}}}',
    );
    expect(decodeSchema({ propertyOrdering: 'a', properties: { a: {} } })).toEqual({ properties: { a: {} } });
    expect(spellsOrder({ anyOf: [{}, { property_ordering }] })).toBe(true);
    expect(spellsOrder([{}, 'propertyOrdering'])).toBe(false);
  });

  test('keeps a null that is already allowed, and a nullable that is no flag', () => {
    expect(decodeSchema({ type: ['string', 'null'], enum: [null, 'a'], nullable: true })).toEqual({
      type: ['string', 'null'],
      enum: [null, 'a'],
    });
    expect(decodeSchema({ nullable: 'yes' })).toEqual({ nullable: 'yes' });
  });
});

describe('the output format', () => {
  const schema = { type: 'object' };

  test('is JSON if a schema or the media type asks for it, and text if that is asked for', () => {
    expect(configured({ responseJsonSchema: schema }).output).toStrictEqual({ type: 'json', schema });
    expect(configured({ responseMimeType: 'APPLICATION/JSON' }).output).toStrictEqual({ type: 'json' });
    expect(configured({ responseMimeType: 'text/plain' }).output).toStrictEqual({ type: 'text' });
    expect(configured({}).output).toBeUndefined();
  });

  test('that only this dialect knows is kept for its servers', () => {
    for (const fields of [
      { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a'] } },
      { responseMimeType: 'text/plain', responseJsonSchema: schema },
    ]) {
      const request = configured(fields);
      expect(request.output).toBeUndefined();
      expect(encode(request).generationConfig).toEqual(fields);
    }
  });

  test('goes to a server with its own schema if that spells out an order', () => {
    const responseSchema = { properties: { b: {}, a: {} }, propertyOrdering: ['b', 'a'] };
    expect(encode(configured({ responseSchema })).generationConfig).toEqual({
      responseMimeType: 'application/json',
      responseSchema,
    });
    expect(encode({ output: { type: 'text' } }).generationConfig).toEqual({ responseMimeType: 'text/plain' });
  });
});

describe('thinking', () => {
  const thinking = (thinkingConfig: JsonObject) => configured({ thinkingConfig });

  test.each<[JsonObject, JsonObject]>([
    [{ thinkingLevel: 'LOW' }, { effort: 'low', visible: false }],
    [{ thinkingLevel: 'minimal' }, { effort: 'minimal', visible: false }],
    [{ thinkingLevel: 'XHIGH' }, { effort: 'xhigh', visible: false }],
    [
      { thinkingLevel: 'Medium', includeThoughts: true },
      { effort: 'medium', visible: true },
    ],
    [
      { thinkingLevel: 'HIGH', thinkingBudget: 5 },
      { effort: 'high', budgetTokens: 5, visible: false },
    ],
    [
      { thinkingBudget: 0, thinkingLevel: 'HIGH' },
      { effort: 'none', visible: false },
    ],
    [{ thinkingBudget: -1 }, { visible: false }],
    [{ includeThoughts: true }, { visible: true }],
    [{ thinkingLevel: 'EXTREME' }, { visible: false }],
    [{ thinkingLevel: 1 }, { effort: 'low', visible: false }],
    [{ thinkingLevel: 2 }, { effort: 'medium', visible: false }],
    [{ thinkingLevel: 3 }, { effort: 'high', visible: false }],
    [{ thinkingLevel: 4 }, { effort: 'minimal', visible: false }],
  ])('%j means %j', (wire, reasoning) => {
    expect(thinking(wire).reasoning).toStrictEqual(reasoning);
  });

  test('is not asked for by a client that says only that it wants to see none', () => {
    for (const wire of [{ includeThoughts: false }, { includeThoughts: false, odd: 1 }, { odd: 1 }]) {
      expect(thinking(wire).reasoning).toBeUndefined();
      expect(encode(thinking(wire)).generationConfig).toEqual({ thinkingConfig: wire });
    }
    expect(thinking({}).reasoning).toBeUndefined();
    expect(encode(thinking({}))).not.toHaveProperty('generationConfig');
  });

  test('that has no canonical form comes back to a server of the dialect', () => {
    for (const wire of [{ thinkingBudget: -1 }, { thinkingLevel: 'EXTREME' }]) {
      expect(encode(thinking(wire)).generationConfig).toEqual({
        thinkingConfig: { includeThoughts: false, ...wire },
      });
    }
    expect(encode({ reasoning: { effort: 'none' } }).generationConfig).toEqual({
      thinkingConfig: { includeThoughts: false, thinkingBudget: 0 },
    });
    expect(encode(thinking({ thinkingLevel: 'XHIGH' })).generationConfig).toEqual({
      thinkingConfig: { includeThoughts: false, thinkingLevel: 'XHIGH' },
    });
    expect(encode({ reasoning: { effort: 'low' } }).generationConfig).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' },
    });
  });
});

describe('turns', () => {
  const callOf = (name: string, id?: string) => ({ functionCall: { name, ...(id !== undefined && { id }) } });

  test('without a role are the model’s if they call, and the API’s own role is the user’s', () => {
    expect(messagesOf({ role: '', parts: [{ text: 'a' }, callOf('f')] })[0]?.role).toBe('assistant');
    expect(messagesOf({ role: '', parts: [{ text: 'a' }] })[0]?.role).toBe('user');
    expect(messagesOf({ role: 'function', parts: [{ functionResponse: { name: 'f' } }] })[0]?.role).toBe(
      'tool',
    );
    expect(messagesOf({ role: 'system', parts: [{ text: 'a' }] })[0]?.role).toBe('system');
    expect(messagesOf({ role: 'model' }, hello)[0]).toEqual({ role: 'assistant', content: [] });
    expect(messagesOf({ role: 'user', odd: 1 })[0]).toEqual({
      role: 'user',
      content: [],
      extensions: { gemini: { odd: 1 } },
    });
  });

  test('of the model that follow each other are one answer, with plain text joined to plain text', () => {
    const signed = { text: 'c', thoughtSignature: 's' };
    const said = messagesOf(
      { role: 'model', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'b' }, { text: '' }, signed] },
      { role: 'model', parts: [{ text: 'd' }, { text: 'e', thought: true }] },
      { role: 'model', parts: [{ text: '' }, callOf('f')] },
    );
    expect(said).toHaveLength(1);
    expect(said[0]?.content).toMatchObject([
      { type: 'text', text: 'ab' },
      { type: 'text', text: 'c', extensions: { gemini: { thoughtSignature: 's' } } },
      { type: 'text', text: 'd' },
      { type: 'reasoning', text: 'e' },
      { type: 'tool-call', name: 'f' },
    ]);
  });

  test('of thoughts that were streamed are one thought again', () => {
    const thought = (text: string) => ({ role: 'model', parts: [{ text, thought: true }] });
    const signed = { role: 'model', parts: [{ text: '!', thought: true, thoughtSignature: 's' }] };
    const said = messagesOf(thought('Let'), thought(' me'), thought(''), thought(' see'), signed, {
      role: 'model',
      parts: [{ text: 'Hello' }],
    });
    expect(said[0]?.content).toMatchObject([
      { type: 'reasoning', text: 'Let me see' },
      { type: 'reasoning', text: '!', extensions: { gemini: { thoughtSignature: 's' } } },
      { type: 'text', text: 'Hello' },
    ]);
  });

  test('hold results and words in the order of their parts', () => {
    const result = { functionResponse: { name: 'f' } };
    const roles = messagesOf({ parts: [result, result, { text: 'a' }, { text: 'b' }, result] });
    expect(roles.map(({ role, content }) => [role, content.length])).toEqual([
      ['tool', 2],
      ['user', 2],
      ['tool', 1],
    ]);
  });

  test('never get an invented id that the client wrote itself, for a call or a result', () => {
    const [answer] = messagesOf(
      { role: 'model', parts: [callOf('f'), callOf('g', 'call_1')] },
      { parts: [{ functionResponse: { name: 'f', id: 'call_2' } }] },
    );
    expect(answer?.content).toMatchObject([{ id: 'call_3' }, { id: 'call_1' }]);
  });

  test('contain thoughts only from the model; others’ are text', () => {
    expect(messagesOf({ parts: [{ text: 'a', thought: true }] })[0]?.content).toEqual([
      { type: 'text', text: 'a' },
    ]);
  });
});

test('a result with an id answers the call of that id, also again, before one of its name', () => {
  const ledger = new CallLedger(new Set(['a', 'b']));
  ledger.open('a', 'f');
  ledger.open(undefined, 'f');
  expect(ledger.answer('a', 'f').id).toBe('a');
  expect(ledger.answer('a', 'f').id).toBe('a');
  expect(ledger.answer('b', 'g').id).toBe('b');
  expect(ledger.answer('b', 'f').id).toBe('call_1');
});

describe('a result', () => {
  const resultOf = (functionResponse: JsonObject) => {
    const [message] = messagesOf({ parts: [{ functionResponse: { name: 'f', ...functionResponse } }] });
    return message?.content[0];
  };

  test.each<[JsonObject, JsonObject]>([
    [{ response: { output: 'a' } }, { content: [{ type: 'text', text: 'a' }] }],
    [{ response: { error: 'a' } }, { isError: true, content: [{ type: 'text', text: 'a' }] }],
    [{ response: { error: '' } }, { isError: true, content: [{ type: 'text', text: '' }] }],
    [
      { response: { error: { a: 1 } } },
      { isError: true, content: [{ type: 'text', text: '{"error":{"a":1}}' }] },
    ],
    [{ response: { error: null, a: 1 } }, { content: [{ type: 'text', text: '{"error":null,"a":1}' }] }],
    [{ response: { error: false } }, { content: [{ type: 'text', text: '{"error":false}' }] }],
    [{ response: { result: 'a' } }, { content: [{ type: 'text', text: '{"result":"a"}' }] }],
    [{ response: { output: 1 } }, { content: [{ type: 'text', text: '{"output":1}' }] }],
    [
      { response: { output: 'a', error: 'b' } },
      { content: [{ type: 'text', text: '{"output":"a","error":"b"}' }] },
    ],
    [{ response: 'a' }, { content: [{ type: 'text', text: 'a' }] }],
    [{}, { content: [] }],
    [{ parts: [{ text: 'a', thought: true }] }, { content: [{ type: 'text', text: 'a' }] }],
  ])('%j is read', (functionResponse, wanted) => {
    const { type, toolCallId, toolName, extensions, ...said } = {
      ...resultOf(functionResponse),
    } as JsonObject;
    expect(said).toEqual(wanted);
  });

  test('is encoded with its call’s name, its texts as one, an error under its own key', () => {
    const said = (
      content: Extract<Message, { role: 'tool' }>['content'][number]['content'],
      isError = false,
    ) =>
      encode({
        messages: [
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', isError, content }],
          },
        ],
      }).contents;
    const turn = (more: JsonObject) => [
      { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', ...more } }] },
    ];
    const [a, b] = [
      { type: 'text' as const, text: 'a' },
      { type: 'text' as const, text: 'b' },
    ];
    expect(said([a, b])).toEqual(turn({ response: { output: 'a\nb' } }));
    expect(said([a], true)).toEqual(turn({ response: { error: 'a' } }));
    expect(said([], true)).toEqual(turn({ response: { error: '' } }));
    expect(said([])).toStrictEqual(turn({}));
    const whole = { gemini: { wholeResponse: true } };
    const messages: Message[] = [
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 'f',
            content: [{ ...a, text: '[1' }],
            extensions: whole,
          },
        ],
      },
    ];
    expect(encode({ messages }).contents).toEqual(turn({ response: { output: '[1' } }));
  });

  test('without a name anywhere is refused with its place, and without what the client sent', () => {
    const messages: Message[] = [
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', content: [] }] },
    ];
    expect(refusal(() => encode({ messages }))).toBe(
      'messages[0].content[0].toolName: no call of the conversation has the id of this result, and the result names no function',
    );
  });
});

test('a cached prompt goes to its server apart from the messages, and comes back as it was', () => {
  const request = decode({
    cachedContent: 'cachedContents/1',
    systemInstruction: { parts: [{ text: 'a' }] },
  });
  const body = encode(request);
  expect(body.cachedContent).toBe('cachedContents/1');
  expect(body.systemInstruction).toEqual({ parts: [{ text: 'a' }] });
  const opaque = (format: string, value: JsonObject): Message[] => [
    { role: 'system', content: [{ type: 'opaque', format, value }] },
  ];
  expect(encode({ messages: opaque('gemini', { text: 'a' }) })).not.toHaveProperty('cachedContent');
  expect(refusal(() => encode({ messages: opaque('openai', { cachedContent: 'a' }) }))).toBe(
    'messages[0].content[0]: only a server of the openai format can serve this',
  );
});

test('the answer knows whether a prompt is text only', () => {
  const isTextOnly = (...parts: JsonObject[]) => decoded({ contents: [{ parts }] }).call.wire.textOnly;
  const picture = { inlineData: { mimeType: 'image/png', data: 'AA' } };
  expect(isTextOnly({ text: 'a' }, { functionResponse: { name: 'f', response: {} } })).toBe(true);
  expect(isTextOnly({ text: 'a' }, picture)).toBe(false);
  expect(isTextOnly({ odd: 1 })).toBe(false);
  expect(isTextOnly({ functionResponse: { name: 'f', response: {}, parts: [picture] } })).toBe(false);
});

describe('function calling', () => {
  const configure = (functionCallingConfig: JsonObject) => decode({ toolConfig: { functionCallingConfig } });

  test.each<[JsonObject, JsonObject | undefined]>([
    [{}, undefined],
    [{ mode: 'MODE_UNSPECIFIED' }, undefined],
    [{ mode: 'auto' }, { type: 'auto' }],
    [{ mode: 'AUTO', allowedFunctionNames: [] }, { type: 'auto' }],
    [{ mode: 'ANY' }, { type: 'required' }],
    [
      { mode: 'ANY', allowedFunctionNames: 'f' },
      { type: 'tool', name: 'f' },
    ],
    [
      { mode: 'ANY', allowedFunctionNames: ['f', 'g'] },
      { type: 'required', allowed: ['f', 'g'] },
    ],
    [{ mode: 'NONE' }, { type: 'none' }],
    [
      { mode: 'VALIDATED', allowedFunctionNames: ['f'] },
      { type: 'auto', allowed: ['f'] },
    ],
    [{ mode: 'VALIDATED' }, { type: 'auto' }],
    // Protobuf’s REST clients write the words by their numbers.
    [{ mode: 0 }, undefined],
    [{ mode: 1 }, { type: 'auto' }],
    [{ mode: 2 }, { type: 'required' }],
    [{ mode: 3 }, { type: 'none' }],
    [{ mode: 4 }, { type: 'auto' }],
  ])('%j means %j', (wire, choice) => {
    expect(configure(wire).toolChoice).toStrictEqual(choice);
  });

  test('that only its servers know comes back', () => {
    for (const wire of [{ mode: 'VALIDATED' }, { mode: 'AUTO', odd: 1 }]) {
      expect(encode(configure(wire)).toolConfig).toEqual({ functionCallingConfig: wire });
    }
    expect(encode(configure({ odd: 1 })).toolConfig).toEqual({ functionCallingConfig: { odd: 1 } });
    expect(encode(configure({ mode: 'MODE_UNSPECIFIED' }))).not.toHaveProperty('toolConfig');
  });

  test('in pieces is not requested, since calls are whole here', () => {
    const wire = { mode: 'ANY', streamFunctionCallArguments: true };
    expect(encode(configure(wire)).toolConfig).toEqual({ functionCallingConfig: { mode: 'ANY' } });
  });
});

describe('pages of models', () => {
  const models = ['a', 'b', 'c'].map((id) => ({ id, displayName: id, createdAt: 0 }));

  test('are refused for a size or a token that is none', () => {
    for (const pageSize of ['1x', 'x1', '-1', '1234567890']) {
      expect(refusal(() => encodeModelList(models, { pageSize }))).toBe(
        'pageSize: expected a number of 0 or more',
      );
    }
    for (const token of ['offset:1x', 'xoffset:1', 'offset:', 'offset:1234567890']) {
      expect(refusal(() => encodeModelList(models, { pageToken: btoa(token) }))).toBe(
        'pageToken: not a token of this list',
      );
    }
    expect(refusal(() => encodeModelList(models, { pageToken: '!' }))).toBe(
      'pageToken: not a token of this list',
    );
  });

  test('show the models as they are', () => {
    expect(encodeModelList(models, { page_size: '1', page_token: btoa('offset:2') })).toStrictEqual({
      models: [
        {
          name: 'models/c',
          baseModelId: 'c',
          version: '1',
          displayName: 'c',
          description: '',
          supportedGenerationMethods: ['generateContent', 'countTokens', 'streamGenerateContent'],
        },
      ],
    });
  });
});

test('a stream reports the usage that is known, and adds up several choices', () => {
  const wire = { sse: true, includeThoughts: false, textOnly: true };
  const encoder = createStreamEncoder({ stream: true, model: 'm', choices: 2, requestId: 'r', wire });
  const push = (event: GenerationEvent, choice: number) =>
    encoder
      .push(event, choice)
      .split('\n\n')
      .filter(Boolean)
      .map((line): JsonObject => JSON.parse(line.slice(6)));
  const start: GenerationEvent = { type: 'start', id: 'g', createdAt: 0, model: 'm' };
  push({ ...start, inputTokens: 5 }, 0);
  push({ ...start, id: 'h', inputTokens: 7 }, 1);
  expect(push({ type: 'text-delta', block: 0, text: 'a' }, 1)).toEqual([
    {
      candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, index: 1 }],
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
      modelVersion: 'm',
      responseId: 'g',
    },
  ]);
  expect(push({ type: 'reasoning-delta', block: 1, text: 'hm' }, 1)).toEqual([]);
  push({ type: 'finish', reason: 'stop', usage: { inputTokens: 5, outputTokens: 2, reasoningTokens: 1 } }, 1);
  expect(push({ type: 'finish', reason: 'stop', usage: { outputTokens: 3 } }, 0)).toMatchObject([
    {
      usageMetadata: {
        promptTokenCount: 5,
        candidatesTokenCount: 4,
        thoughtsTokenCount: 1,
        totalTokenCount: 10,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 5 }],
      },
    },
  ]);
});

test('text of a result that reads like an object stays text', () => {
  const functionCall = { id: 'c', name: 'f', args: {} };
  const result = (response: JsonObject) => ({ functionResponse: { id: 'c', name: 'f', response } });
  const said = (response: JsonObject) => {
    const contents = [
      { role: 'model', parts: [{ functionCall }] },
      { role: 'user', parts: [result(response)] },
    ];
    return (encode(decode({ contents })).contents as JsonObject[])[1];
  };
  for (const response of [{ output: '{"a":1}' }, { error: '{"a":1}' }, { a: 1 }, { output: { a: 1 } }]) {
    expect(said(response)).toEqual({ role: 'user', parts: [result(response)] });
  }
});

test('only an address of the web is a URL, wherever else one occurs in a name', () => {
  const sourceOf = (fileUri: string) => {
    const [message] = messagesOf({ role: 'user', parts: [{ fileData: { fileUri, mimeType: 'a/b' } }] });
    return message?.content[0];
  };
  expect(sourceOf('HTTPS://a/b')).toMatchObject({ source: { type: 'url', url: 'HTTPS://a/b' } });
  expect(sourceOf('gs://b/https://a')).toMatchObject({ source: { type: 'file-id', id: 'gs://b/https://a' } });
});
