import { collect, type GenerationEvent, type Json, SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { decodeStream, encodeStream, textCall } from './golden-run.ts';
import { formats } from './registry.ts';

/*
 * Bodies and answers whose cost could be quadratic: work that is repeated for each of a hundred thousand values or
 * characters, or a complaint about each of them, blocks everybody else's requests. If one of these is slow, its test
 * runs into the time limit.
 */

/** More than the ingress lets through at once. */
const many = 200_000;
const bad = Array.from({ length: many }, () => 1);

interface Call {
  path: string;
  body(messages: Json): Json;
  /** A body with these stop strings. */
  stops(strings: string[]): Json;
}

const hello = { role: 'user', content: 'hi' };
const calls: Readonly<Record<string, Call>> = {
  openai: {
    path: '/v1/chat/completions',
    body: (messages) => ({ model: 'm', messages }),
    stops: (stop) => ({ model: 'm', messages: [hello], stop }),
  },
  anthropic: {
    path: '/v1/messages',
    body: (messages) => ({ model: 'm', max_tokens: 5, messages }),
    stops: (stops) => ({ model: 'm', max_tokens: 5, messages: [hello], stop_sequences: stops }),
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    body: (contents) => ({ contents }),
    stops: (stopSequences) => ({ contents: 'hi', generationConfig: { stopSequences } }),
  },
};

function decode(format: string, body: Json) {
  const server = formats.find(({ client }) => client.format === format)?.server;
  const call = calls[format];
  if (!server || !call) throw new Error(`no call for ${format}`);
  return server.decodeRequest({ path: call.path, body, headers: {}, query: {}, requestId: 'r' }).request;
}

function refusalOf(format: string, body: Json | undefined): SluiceError {
  try {
    decode(format, body ?? null);
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe.each(Object.entries(calls))('a body of the %s format', (format, call) => {
  it('is refused for the first of many bad messages', () => {
    expect(refusalOf(format, call.body(bad))).toMatchObject({
      kind: 'invalid-request',
      message: expect.stringMatching(/^(messages|contents)\[0\]/),
    });
  });

  it('is refused for the first of many bad parts', () => {
    const message = format === 'gemini' ? { role: 'user', parts: bad } : { role: 'user', content: bad };
    expect(refusalOf(format, call.body([message])).message).toMatch(/\[0\]\.(content|parts)\[0\]/);
  });

  it('may name many stop strings, but not any number', () => {
    const stops = Array.from({ length: 256 }, (_, index) => `stop ${index}`);
    expect(decode(format, call.stops(stops)).sampling.stopSequences).toEqual(stops);
    expect(refusalOf(format, call.stops([...stops, 'one more']))).toMatchObject({
      kind: 'invalid-request',
      message: expect.stringMatching(/^(generationConfig\.)?stop(_?[sS]equences)?: /),
    });
  });
});

/** JSON of this many values. */
const listOf = (values: number) => `{"a":[${'0,'.repeat(values - 3)}0]}`;
const luggage = (values: number) => {
  const text = `{"openai":${listOf(values - 1)}}`;
  return `c-sluice1-${Buffer.from(text).toString('base64url')}`;
};

/** Calls in whose texts there is JSON that is read. */
const callsOfTexts: Readonly<Record<string, (format: string, texts: readonly number[]) => Json>> = {
  arguments: (_format, texts) => ({
    role: 'assistant',
    tool_calls: texts.map((values) => ({
      ...{ id: 'c', type: 'function' },
      function: { name: 'f', arguments: listOf(values) },
    })),
  }),
  ids: (format, texts) => {
    const ids = texts.map(luggage);
    if (format === 'anthropic') {
      return {
        role: 'assistant',
        content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
      };
    }
    if (format === 'gemini')
      return { role: 'model', parts: ids.map((id) => ({ functionCall: { id, name: 'f' } })) };
    const call = { type: 'function', function: { name: 'f', arguments: '{}' } };
    return { role: 'assistant', tool_calls: ids.map((id) => ({ ...call, id })) };
  },
};

it.each([
  ['arguments', 'openai'],
  ['ids', 'openai'],
  ['ids', 'anthropic'],
  ['ids', 'gemini'],
])('the %s of all calls of %s hold together no more values than a body may', (what, format) => {
  const body = (...texts: number[]) => calls[format]?.body([callsOfTexts[what]?.(format, texts) ?? null]);
  expect(refusalOf(format, body(many / 2, many / 2, 10))).toMatchObject({ kind: 'too-large' });
  expect(decode(format, body(many / 2, many / 2 - 10) ?? null).messages).toHaveLength(1);
});

it('neither does a call of the deprecated form', () => {
  const call = (values: number) => ({
    role: 'assistant',
    function_call: { name: 'f', arguments: listOf(values) },
  });
  const messages = [call(many / 2), call(many / 2), call(10)];
  expect(refusalOf('openai', { model: 'm', messages })).toMatchObject({ kind: 'too-large' });
});

it('finds the calls of many results without ids', () => {
  const functionCall = { name: 'f', args: {} };
  const functionResponse = { name: 'f', response: {} };
  const contents = [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: Array.from({ length: many / 4 }, () => ({ functionCall })) },
    { role: 'user', parts: Array.from({ length: many / 4 }, () => ({ functionResponse })) },
  ];
  const result = decode('gemini', { contents }).messages.at(-1)?.content.at(-1);
  expect(result).toMatchObject({ type: 'tool-result', toolCallId: `call_${many / 4}` });
});

describe.each(formats.map(({ client }) => [client.format, client] as const))(
  'a server of %s',
  (_dialect, client) => {
    it('is told of a call whose arguments are almost nothing but blanks', () => {
      const call = { name: 'f', arguments: `${' '.repeat(2 * many)}x` };
      const messages = [
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: call }] },
      ];
      const target = { model: 'm', stream: true, maxOutputTokens: 9, clientFormat: 'openai' };
      const request = decode('openai', { model: 'm', messages });
      expect(client.encodeRequest(request, target).body).toBeTypeOf('object');
    });

    it('is told of a function whose parameters are excluded again and again', () => {
      const leaves: Json = { anyOf: Array.from({ length: many / 2 }, () => ({ type: 'string' })) };
      const input_schema = Array.from({ length: 1_000 }).reduce<Json>((not) => ({ not }), leaves);
      const body = { model: 'm', max_tokens: 5, messages: [hello], tools: [{ name: 'f', input_schema }] };
      const target = { model: 'm', stream: true, maxOutputTokens: 9, clientFormat: 'anthropic' };
      expect(client.encodeRequest(decode('anthropic', body), target).body).toBeTypeOf('object');
    });

    const texts = Array.from({ length: many - 100 }, () => 'a');
    const functionCall = { name: 'f', args: {} };
    const functionResponse = { name: 'f', response: {} };
    const names = Array.from({ length: many / 4 }, (_, index) => `f${index}`);
    const ids = Array.from({ length: many / 5 }, (_, index) => `a${String.fromCodePoint(0x4e00 + index)}`);

    it.each<[string, Json]>([
      ['turns', { contents: texts }],
      ['instructions', { contents: 'hi', systemInstruction: { parts: texts } }],
      [
        'texts after a result',
        {
          contents: [
            { role: 'model', parts: [{ functionCall }] },
            { role: 'user', parts: [{ functionResponse }, ...texts] },
          ],
        },
      ],
      [
        'allowed functions',
        {
          contents: 'hi',
          tools: [{ functionDeclarations: names.map((name) => ({ name })) }],
          toolConfig: { functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: names } },
        },
      ],
      [
        'calls whose ids come to the same',
        { contents: [{ role: 'model', parts: ids.map((id) => ({ functionCall: { id, name: 'f' } })) }] },
      ],
    ])('is told as many %s as a body holds', (_what, body) => {
      const target = { model: 'm', stream: true, maxOutputTokens: 9, clientFormat: 'gemini' };
      expect(client.encodeRequest(decode('gemini', body), target).body).toBeTypeOf('object');
    });
  },
);

const context = { id: 'r', createdAt: 0, model: 'm' };

describe.each(formats.map((format) => [format.client.format, format] as const))(
  'an answer of the %s format',
  (name, format) => {
    it('may hold as many calls as its server sends, all with one id', () => {
      const calls = Array.from({ length: many / 2 }, (_, block): GenerationEvent[] => [
        { type: 'tool-call-start', block, id: 'c', name: 'f' },
        { type: 'tool-call-delta', block, arguments: '{}' },
        { type: 'tool-call-end', block },
      ]);
      const answer: GenerationEvent[] = [
        { type: 'start', ...context },
        ...calls.flat(),
        { type: 'finish', reason: 'tool-calls', usage: {} },
      ];
      const text = encodeStream(format, textCall(name), [answer]);
      const events = decodeStream(format.client, context, [text]);
      expect(events.filter(({ type }) => type === 'tool-call-end')).toHaveLength(many / 2);
    });
  },
);

it('reads a body of chat completions that holds more at once than the stack takes', () => {
  const content = Array.from({ length: many }, () => ({ type: 'text', text: 'a' }));
  const logprobs = { content: Array.from({ length: many }, () => ({ token: 'a', logprob: 0 })) };
  const read = (message: Json) => {
    const { client } = formats.find((format) => format.client.format === 'openai') ?? {};
    const body = { choices: [{ message, logprobs, finish_reason: 'stop' }] };
    return collect(client?.decodeResponse(body, context) ?? []);
  };
  expect(read({ content }).content).toEqual([{ type: 'text', text: 'a'.repeat(many) }]);
  expect(read({ content: 'a' }).logprobs).toHaveLength(many);
});

it('reads blocks of messages that are all interleaved', () => {
  const format = formats.find(({ client }) => client.format === 'anthropic');
  const decoder = format?.client.createStreamDecoder(context);
  const push = (message: Json) => decoder?.push({ data: JSON.stringify(message) }) ?? [];
  const each = (say: (index: number) => Json) =>
    Array.from({ length: many / 4 }, (_, index) => push(say(index))).flat();
  const content_block = { type: 'text', text: 'a' };
  push({ type: 'message_start', message: {} });
  each((index) => ({ type: 'content_block_start', index, content_block }));
  each((index) => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'b' } }));
  const ends = each((index) => ({ type: 'content_block_stop', index: many / 4 - 1 - index }));
  expect(ends.filter(({ type }) => type === 'text-delta')).toHaveLength(2 * (many / 4 - 1));
});
