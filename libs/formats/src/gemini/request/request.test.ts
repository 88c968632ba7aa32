import {
  type AssistantMessage,
  type InferenceRequest,
  type Message,
  SluiceError,
  type Tool,
  type ToolMessage,
} from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WireRequest } from '../../codec.ts';
import { decodeRequest, encodeRequest } from './request.ts';

const target = { model: 'm', stream: true, maxOutputTokens: 100 };
const wire = (body: unknown): WireRequest => ({
  path: '/v1beta/models/m:generateContent',
  headers: {},
  query: {},
  requestId: 'r',
  body,
});
const hello: Message = { role: 'user', content: [{ type: 'text', text: 'Hello.' }] };
const request = (fields: Partial<InferenceRequest> = {}): InferenceRequest => ({
  model: 'm',
  messages: [hello],
  sampling: {},
  ...fields,
});
const decodeAgain = (canonical: InferenceRequest) =>
  decodeRequest(wire(encodeRequest(canonical, target).body)).request;

describe('what the dialect cannot express', () => {
  test('a limit of one call is left out', () => {
    const tools: Tool[] = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const { body } = encodeRequest(request({ tools, parallelToolCalls: false }), target);
    expect(body).toEqual(encodeRequest(request({ tools }), target).body);
  });

  test.each<[string, Partial<InferenceRequest>]>([
    ['messages[1].content[0]', { messages: [hello, { role: 'user', content: [foreign()] }] }],
    ['messages[0].content[0]', { messages: [{ role: 'system', content: [foreign()] }, hello] }],
    ['tools[0]', { tools: [foreign()] }],
    ['messages[1].content[0].content[0]', { messages: [hello, resultOf(foreign())] }],
  ])('another format at %s is refused by its canonical path', (param, fields) => {
    expect(() => encodeRequest(request(fields), target)).toThrow(
      expect.objectContaining({ kind: 'invalid-request', options: { param } }),
    );
  });

  test('fields of another format are reported, one entry per thing', () => {
    const extensions = { anthropic: { cache_control: { type: 'ephemeral' } } };
    const text = { type: 'text' as const, text: 'Hello.', extensions };
    const { dropped } = encodeRequest(
      request({ messages: [{ role: 'user', content: [text, text], extensions }], extensions }),
      target,
    );
    expect(dropped).toEqual(['anthropic', 'anthropic', 'anthropic', 'anthropic']);
  });

  test('a result needs the name of its call, from itself or from the conversation', () => {
    const result: ToolMessage = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c', content: [] }],
    };
    const call: AssistantMessage = {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'c', name: 'f', arguments: '' }],
    };
    expect(() => encodeRequest(request({ messages: [hello, result] }), target)).toThrow(
      expect.objectContaining({ options: { param: 'messages[1].content[0].toolName' } }),
    );
    const { body } = encodeRequest(request({ messages: [hello, call, result] }), target);
    expect(body.contents).toMatchObject([{}, {}, { parts: [{ functionResponse: { id: 'c', name: 'f' } }] }]);
  });
});

describe('turns', () => {
  test('results of several messages and what the user adds share one turn', () => {
    const result = (id: string): ToolMessage => ({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: 'f', content: [{ type: 'text', text: id }] },
      ],
    });
    const { body } = encodeRequest(request({ messages: [result('a'), result('b'), hello, hello] }), target);
    expect(body.contents).toMatchObject([
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'a' } }, { functionResponse: { id: 'b' } }, { text: 'Hello.' }],
      },
      { role: 'user', parts: [{ text: 'Hello.' }] },
    ]);
  });

  describe('the results of a step', () => {
    const call = (...ids: string[]): AssistantMessage => ({
      role: 'assistant',
      content: ids.map((id) => ({ type: 'tool-call', id, name: 'f', arguments: '{}' })),
    });
    const results = (...ids: string[]): ToolMessage => ({
      role: 'tool',
      content: ids.map((id) => ({ type: 'tool-result', toolCallId: id, toolName: 'f', content: [] })),
    });
    const sentBy = (clientFormat: 'openai' | 'gemini', ...messages: Message[]) => {
      const { body } = encodeRequest(request({ messages: [hello, ...messages] }), {
        ...target,
        clientFormat,
      });
      // What the encoder of this dialect has written.
      const contents = body.contents as { parts: { functionResponse?: { id: string }; text?: string }[] }[];
      const said = contents.slice(1).flatMap(({ parts }) => parts);
      return said.flatMap(({ functionResponse, text }) => functionResponse?.id ?? text ?? []);
    };

    test('stand in the order of its calls, as servers may tell them by their places', () => {
      expect(sentBy('openai', call('a', 'b', 'c'), results('c'), results('a', 'b'))).toEqual(['a', 'b', 'c']);
      expect(sentBy('openai', call('a', 'b'), results('b'), hello, results('a'))).toEqual([
        'a',
        'Hello.',
        'b',
      ]);
      expect(sentBy('openai', call('a'), call('b'), results('b', 'a'))).toEqual(['a', 'b']);
    });

    test('are refused by their places in the request, whatever their order', () => {
      const odd = results('c', 'b');
      odd.content[0]?.content.push(foreign());
      expect(() => sentBy('openai', call('a', 'b', 'c'), odd, results('a'))).toThrow(
        expect.objectContaining({ options: { param: 'messages[2].content[0].content[0]' } }),
      );
    });

    test('are ordered apart from those of another step, even if ids come again', () => {
      const messages = [call('a', 'b'), results('b', 'a'), call('b', 'a'), results('a', 'b')];
      expect(sentBy('openai', ...messages)).toEqual(['a', 'b', 'b', 'a']);
    });

    test('stay as they are if one belongs to no call, and from a client of the same dialect', () => {
      expect(sentBy('openai', call('a', 'b'), results('b', 'x', 'a'))).toEqual(['b', 'x', 'a']);
      expect(sentBy('gemini', call('a', 'b'), results('b', 'a'))).toEqual(['b', 'a']);
    });
  });

  test('a prompt of nothing but instructions is said by the user', () => {
    const { body } = encodeRequest(
      request({ messages: [{ role: 'system', content: hello.content as [] }] }),
      target,
    );
    expect(body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }] });
  });

  test('a message without content is no turn', () => {
    const messages: Message[] = [hello, { role: 'assistant', content: [] }];
    expect(encodeRequest(request({ messages }), target).body.contents).toHaveLength(1);
  });
});

test('the highest effort is the highest level, and a budget stands alone', () => {
  const thinking = (reasoning: InferenceRequest['reasoning']) =>
    encodeRequest(request(reasoning && { reasoning }), target).body.generationConfig;
  expect(thinking({ effort: 'max' })).toEqual({
    thinkingConfig: { includeThoughts: true, thinkingLevel: 'XHIGH' },
  });
  expect(thinking({ effort: 'none' })).toEqual({
    thinkingConfig: { includeThoughts: false, thinkingBudget: 0 },
  });
  expect(thinking({ effort: 'low', budgetTokens: 9, visible: false })).toEqual({
    thinkingConfig: { includeThoughts: false, thinkingBudget: 9 },
  });
  expect(thinking(undefined)).toBeUndefined();
});

test('a call without a role is a call of the model, and null is absent everywhere', () => {
  const body = {
    contents: [
      { role: null, parts: [{ text: null, functionCall: { name: 'f', args: { keep: null } } }] },
      { parts: { functionResponse: { name: 'f', response: 'plain' } } },
    ],
    tools: null,
    generationConfig: { temperature: null, stopSequences: null },
  };
  expect(decodeRequest(wire(body)).request).toEqual({
    model: 'm',
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', id: 'call_1', name: 'f', arguments: '{"keep":null}' }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'f',
            content: [{ type: 'text', text: 'plain' }],
          },
        ],
      },
    ],
    sampling: {},
  });
});

test('a refusal never repeats what the client wrote', () => {
  const secret = 'hunter2';
  const bodies = [
    secret,
    { contents: [{ role: secret, parts: [{ text: secret }] }] },
    { contents: [{ parts: [{ text: [secret] }] }] },
    { contents: secret, generationConfig: { temperature: secret } },
    { contents: secret, toolConfig: { functionCallingConfig: { mode: secret } } },
  ];
  for (const body of bodies) {
    expect(() => decodeRequest(wire(body))).toThrow(
      expect.objectContaining({ kind: 'invalid-request', message: expect.not.stringContaining(secret) }),
    );
  }
});

const fieldNames = [
  ...[
    'contents',
    'parts',
    'role',
    'text',
    'thought',
    'thoughtSignature',
    'inlineData',
    'fileData',
    'mimeType',
  ],
  ...['data', 'fileUri', 'functionCall', 'functionResponse', 'name', 'args', 'response', 'id', 'tools'],
  ...[
    'functionDeclarations',
    'parameters',
    'type',
    'properties',
    'propertyOrdering',
    'nullable',
    'enum',
    'items',
  ],
  ...[
    'toolConfig',
    'functionCallingConfig',
    'mode',
    'allowedFunctionNames',
    'generationConfig',
    'temperature',
  ],
  ...[
    'stopSequences',
    'thinkingConfig',
    'thinkingBudget',
    'responseSchema',
    'responseMimeType',
    'system_instruction',
  ],
  ...['generateContentRequest', 'cachedContent', '__proto__', 'constructor', 'toString', 'unknown_field'],
];
/** JSON made of the dialect's own words, which gets deeper into the decoder than arbitrary JSON. */
const { value: dialectJson } = fc.letrec<{ value: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.constantFrom(
    null,
    true,
    0,
    1,
    -1,
    1.5,
    '',
    '1',
    'user',
    'model',
    'text',
    'OBJECT',
    'ANY',
    'application/json',
  ),
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...fieldNames), tie('value')), {
        maxLength: 5,
        selector: ([name]) => name,
      })
      .map((entries) => Object.fromEntries(entries)),
  ),
}));

test('any JSON is decoded or refused, and never breaks the decoder', () => {
  const contents = fc.record({ contents: dialectJson, rest: dialectJson });
  const bodies = fc.oneof(
    fc.jsonValue(),
    dialectJson,
    contents.map(({ contents, rest }) => ({ ...Object(rest), contents })),
    dialectJson.map((parts) => ({ contents: [{ role: 'model', parts }, { parts }] })),
    dialectJson.map((part) => ({ contents: [{ parts: [part] }], tools: part, generationConfig: part })),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      for (const path of ['/v1/models/m:generateContent', '/v1/models/m:countTokens']) {
        try {
          decodeRequest({ ...wire(body), path });
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SluiceError);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('a body as deep as the ingress lets through is decoded', () => {
  let deep: unknown = {};
  for (let depth = 0; depth < 200; depth += 1) deep = depth % 2 ? { items: deep } : [deep];
  const tools = [{ functionDeclarations: [{ name: 'f', parameters: deep }] }];
  expect(decodeRequest(wire({ contents: 'x', tools })).request.tools).toHaveLength(1);
});

const text = fc.record({ type: fc.constant('text' as const), text: fc.string() });
const media = fc.record({
  type: fc.constant('media' as const),
  mediaType: fc.constantFrom('image/png', 'audio/wav'),
  source: fc.oneof(
    fc.record({ type: fc.constant('base64' as const), data: fc.base64String() }),
    fc.record({ type: fc.constant('url' as const), url: fc.webUrl() }),
    fc.record({ type: fc.constant('file-id' as const), id: fc.constantFrom('files/abc', 'gs://bucket/a') }),
  ),
});
const schema = fc.record({
  type: fc.constant('object'),
  properties: fc.dictionary(fc.string(), fc.record({ type: fc.constantFrom('string', 'integer') })),
});
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
const exchange = fc.array(fc.tuple(name, fc.dictionary(name, fc.string()), text), {
  minLength: 1,
  maxLength: 3,
});
const numbered = (round: number, index: number) => `id_${round}_${index}`;
/** Conversations in the form that the decoder produces: separate turns, and every call answered in order. */
const rounds = fc
  .array(
    fc.record({
      user: fc.array(fc.oneof(text, media), { minLength: 1, maxLength: 3 }),
      calls: exchange,
      answer: text,
    }),
  )
  .map((list): Message[] => [
    ...list.flatMap(({ user, calls, answer }, round): Message[] => [
      { role: 'user', content: user },
      {
        role: 'assistant',
        content: [
          answer,
          ...calls.map(([called, args], index) => ({
            type: 'tool-call' as const,
            id: numbered(round, index),
            name: called,
            arguments: JSON.stringify(args),
          })),
        ],
      },
      {
        role: 'tool',
        content: calls.map(([called, , result], index) => ({
          type: 'tool-result' as const,
          toolCallId: numbered(round, index),
          toolName: called,
          ...(index % 2 === 1 && { isError: true }),
          content: [result],
        })),
      },
      { role: 'assistant', content: [answer] },
    ]),
    hello,
  ]);
const canonical: fc.Arbitrary<InferenceRequest> = fc.record(
  {
    model: fc.constant('m'),
    messages: rounds,
    sampling: fc.record(
      {
        maxOutputTokens: fc.integer({ min: 1 }),
        temperature: fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0),
        topP: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
        topK: fc.integer({ min: 1 }),
        seed: fc.integer(),
        stopSequences: fc.array(fc.string({ minLength: 1 }), { minLength: 1 }),
      },
      { requiredKeys: [] },
    ),
    tools: fc.array(
      fc.record({
        type: fc.constant('function' as const),
        name,
        description: fc.string(),
        parameters: schema,
      }),
      {
        minLength: 1,
      },
    ),
    toolChoice: fc.oneof(
      fc.record({ type: fc.constantFrom('auto' as const, 'required' as const, 'none' as const) }),
      fc.record({ type: fc.constant('tool' as const), name }),
      fc.record({ type: fc.constant('auto' as const), allowed: fc.array(name, { minLength: 1 }) }),
      fc.record({ type: fc.constant('required' as const), allowed: fc.array(name, { minLength: 2 }) }),
    ),
    output: fc.oneof(
      fc.record({ type: fc.constant('text' as const) }),
      fc.record({ type: fc.constant('json' as const), schema }, { requiredKeys: ['type'] }),
    ),
    reasoning: fc.oneof(
      fc.record({
        effort: fc.constantFrom('none' as const, 'minimal' as const, 'high' as const),
        visible: fc.boolean(),
      }),
      fc.record({ budgetTokens: fc.integer({ min: 1 }), visible: fc.boolean() }),
    ),
    logprobs: fc.record({ alternatives: fc.integer({ min: 0, max: 20 }) }),
  },
  { requiredKeys: ['model', 'messages', 'sampling'] },
);

test('what the dialect can express is decoded as it was encoded', () => {
  fc.assert(
    fc.property(canonical, (given) => {
      expect(JSON.parse(JSON.stringify(decodeAgain(given)))).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});

test('a thought that is an image comes back to its server as it was', () => {
  const inlineData = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
  const contents = [
    { role: 'user', parts: [{ text: 'Draw.' }] },
    { role: 'model', parts: [{ thought: true, inlineData }, { text: 'Done.' }] },
  ];
  const { request: decoded } = decodeRequest(wire({ contents }));
  expect(encodeRequest(decoded, target).body).toMatchObject({ contents });
});

test('the token of an answer that goes on in the next one comes back to its server', () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello.' }] }];
  const { request: decoded } = decodeRequest(wire({ contents, continuationToken: 'dG9rZW4=' }));
  expect(encodeRequest(decoded, target).body).toMatchObject({ contents, continuationToken: 'dG9rZW4=' });
});

function foreign() {
  return { type: 'opaque' as const, format: 'anthropic', value: { type: 'web_search_20250305' } };
}

function resultOf(part: ReturnType<typeof foreign>): ToolMessage {
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', content: [part] }],
  };
}
