import { collect, type GenerationEvent, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Format } from '../codec.ts';
import { contextOf, decodeStream, encodeStream, formatNamed } from '../golden-run.ts';
import { TextValues } from '../json/text-values.ts';
import { decodeCallId, encodeCallId } from './call-luggage.ts';

/** As long as real ones, and as full of characters that ids may not have. */
const signature = `Eu8+/${'ab+/'.repeat(600)}==`;
const question = { role: 'user', content: 'Weather in Oslo and Rome?' };
const tool = { name: 'get_weather', description: 'The weather' };

/** The events of a server's whole answer. */
function heard(format: Format, body: Json): GenerationEvent[] {
  return format.client.decodeResponse(body, { id: 'g1', createdAt: 0, model: 'm' });
}

const twoCalls: JsonObject = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          {
            functionCall: { id: 'a', name: 'get_weather', args: { city: 'Oslo' } },
            thoughtSignature: signature,
          },
          { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
        ],
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
};

interface Client {
  format: string;
  first: JsonObject;
  /** The ids of an answer's calls, from its body. */
  readIds(body: JsonObject): string[];
  /** The next turn: the answer unchanged, and a result for each call. */
  next(body: JsonObject, ids: readonly string[]): JsonObject;
}

const clients: Client[] = [
  {
    format: 'openai',
    first: { model: 'm', messages: [question], tools: [{ type: 'function', function: tool }] },
    readIds: ({ choices }) => callsOf(messageOf(choices)).map(({ id }) => String(id)),
    next(body, ids) {
      const results = ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'rain' }));
      return { ...this.first, messages: [question, messageOf(body.choices), ...results] };
    },
  },
  {
    format: 'anthropic',
    first: {
      model: 'm',
      max_tokens: 9000,
      messages: [question],
      tools: [{ ...tool, input_schema: { type: 'object' } }],
    },
    readIds: ({ content }) => objects(content).map(({ id }) => String(id)),
    next(body, ids) {
      const content = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' }));
      const answer = { role: 'assistant', content: body.content ?? null };
      return { ...this.first, messages: [question, answer, { role: 'user', content }] };
    },
  },
];

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function messageOf(choices: Json | undefined): JsonObject {
  const message = objects(choices)[0]?.message;
  return isJsonObject(message) ? message : {};
}

function callsOf({ tool_calls }: JsonObject): JsonObject[] {
  return objects(tool_calls);
}

describe.each(clients)('a client of $format', (client) => {
  const { server, client: own } = formatNamed(client.format);
  const decode = (body: JsonObject) =>
    server.decodeRequest({ path: server.routes[0] ?? '', headers: {}, query: {}, requestId: 'r', body });
  const sent = (body: JsonObject, dialect: string) =>
    formatNamed(dialect).client.encodeRequest(decode(body).request, {
      ...{ model: 'gemini-3-pro', stream: true, maxOutputTokens: 9000 },
      clientFormat: client.format,
    }).body;
  const { call } = decode(client.first);
  const events = heard(formatNamed('gemini'), twoCalls);
  const single = JSON.parse(JSON.stringify(server.encodeResponse([collect(events)], call)));
  const stream = encodeStream(formatNamed(client.format), { ...call, stream: true }, [events]);
  const streamed = decodeStream(own, contextOf(events), [stream]);
  const ids = client.readIds(single);

  test('gets the same ids in a stream and in a body, of characters that every server allows', () => {
    const starts = streamed.filter((event) => event.type === 'tool-call-start');
    expect(starts.map(({ id }) => id)).toEqual(ids);
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/);
    expect(ids[1]).toBe('call_g1_2');
  });

  test('brings the signature of a call back to its server, besides its own id', () => {
    const { contents } = sent(client.next(single, ids), 'gemini');
    const [, answer, results] = objects(contents);
    expect(answer?.parts).toEqual([
      { functionCall: { id: 'a', name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: signature },
      { functionCall: { id: 'call_g1_2', name: 'get_weather', args: { city: 'Rome' } } },
    ]);
    expect(objects(results?.parts).map(({ functionResponse }) => functionResponse)).toMatchObject([
      { id: 'a' },
      { id: 'call_g1_2' },
    ]);
  });

  test.each(['openai', 'anthropic'])('sends the bare id to a server of %s', (dialect) => {
    const text = JSON.stringify(sent(client.next(single, ids), dialect));
    expect(text).not.toContain('sluice');
    expect(text.match(/"(?:id|tool_use_id|tool_call_id)":"a"/g)).toHaveLength(2);
  });

  test('that damaged an id still has its call and its result matched', () => {
    const text = JSON.stringify(client.next(single, ids)).replaceAll(
      ids[0] ?? '',
      String(ids[0]).slice(0, 64),
    );
    const { contents } = sent(JSON.parse(text), 'gemini');
    const [, answer, results] = objects(contents);
    expect(objects(answer?.parts)[0]).toMatchObject({
      functionCall: { id: 'a' },
      thoughtSignature: 'skip_thought_signature_validator',
    });
    expect(objects(results?.parts)[0]).toMatchObject({ functionResponse: { id: 'a', name: 'get_weather' } });
  });
});

/** The next turn of a client whose last answer was `body`: its calls as they came, and a result for each of them. */
const nextTurns: Record<string, { path: string; turn(body: JsonObject): JsonObject }> = {
  anthropic: {
    path: '/v1/messages',
    turn: ({ content }) => {
      const uses = objects(content).filter(({ type }) => type === 'tool_use');
      const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id ?? '', content: 'rain' }));
      const said = [question, { role: 'assistant', content: uses }, { role: 'user', content: results }];
      return { model: 'm', max_tokens: 100, messages: said };
    },
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    turn: ({ candidates }) => {
      const { content } = objects(candidates)[0] ?? {};
      const parts = objects(isJsonObject(content) ? content.parts : []);
      const calls = parts.map(({ functionCall }) => functionCall).filter(isJsonObject);
      const results = calls.map(({ id = '', name = '' }) => ({
        functionResponse: { id, name, response: { output: 'rain' } },
      }));
      return { contents: [{ parts: [{ text: 'go' }] }, content ?? {}, { role: 'user', parts: results }] };
    },
  },
};

describe.each(Object.entries(nextTurns))('what a chat-completions server wants back', (format, next) => {
  const [client, openai] = [formatNamed(format), formatNamed('openai')];
  const reply = { stream: false, model: 'm', choices: 1, requestId: 'r', wire: {} };

  /** The turn with calls, and the results, that the server gets from a client that got these events. */
  function sentBack(events: readonly GenerationEvent[], model: string): JsonObject[] {
    const body = JSON.parse(JSON.stringify(client.server.encodeResponse([collect(events)], reply)));
    const { request } = client.server.decodeRequest({
      ...{ path: next.path, headers: {}, query: {}, requestId: 'r' },
      body: next.turn(body),
    });
    const target = { model, stream: true, maxOutputTokens: 100, clientFormat: format };
    return objects(openai.client.encodeRequest(request, target).body.messages).slice(1);
  }

  test(`travels with a client of ${format}: the signature of a call`, () => {
    const extra = { google: { thought_signature: signature } };
    const tool_calls = [
      { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: extra },
    ];
    const message = { role: 'assistant', content: null, tool_calls };
    const events = heard(openai, { choices: [{ index: 0, finish_reason: 'tool_calls', message }] });
    const [part] = collect(events).content;
    if (part?.type !== 'tool-call') throw new TypeError('no call');
    expect(encodeCallId(part, 'openai')).toBe('c1');
    const [answer, result] = sentBack(events, 'm');
    expect(callsOf(answer ?? {})).toMatchObject([{ id: 'c1', extra_content: extra }]);
    expect(result).toMatchObject({ tool_call_id: 'c1' });
  });

  test(`travels with a client of ${format}: a router's sealed thoughts, before and after their call`, () => {
    const sealed = (data: string) => ({
      type: 'reasoning.encrypted',
      data,
      id: 'c1',
      format: 'google-gemini-v1',
    });
    const chunk = (delta: Json, finish_reason: Json = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const decoder = openai.client.createStreamDecoder({ id: 'g1', createdAt: 0, model: 'm' });
    const said = [
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }, sealed('before')] }),
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'g', arguments: '{}' } }] }),
      chunk({ reasoning_details: [sealed('after')] }),
      chunk({}, 'stop'),
    ].map((body) => decoder.push({ data: JSON.stringify(body) }));
    const events = [...said.flat(), ...decoder.end()];
    const { call } = openai.server.decodeRequest({
      ...{ path: '/v1/chat/completions', headers: {}, query: {}, requestId: 'r' },
      body: { model: 'm', messages: [question] },
    });
    // A client of chat completions gets them in the message, as they came.
    for (const stream of [true, false]) {
      const text = stream
        ? encodeStream(openai, { ...call, stream }, [events])
        : JSON.stringify(openai.server.encodeResponse([collect(events)], call));
      expect(text.match(/before/g)).toHaveLength(1);
      expect(text).not.toContain('sluice1');
    }
    const [answer = {}, ...results] = sentBack(events, 'google/gemini-3.7-flash');
    expect(answer).toMatchObject({
      reasoning_details: [sealed('before'), sealed('after')],
      tool_calls: [{ id: 'c1' }, { id: 'c2' }],
    });
    expect(callsOf(answer)[0]).not.toHaveProperty('reasoning_details');
    expect(results).toMatchObject([{ tool_call_id: 'c1' }, { tool_call_id: 'c2' }]);
    expect(sentBack(events, 'gpt-5')[0]).not.toHaveProperty('reasoning_details');
  });
});

test('any id comes back as it was, even one that another gateway of this kind had packed', () => {
  const packed = fc
    .tuple(fc.string(), fc.string({ unit: 'binary' }))
    .map(([id, thoughtSignature]) =>
      encodeCallId({ id: id || 'x', extensions: { gemini: { thoughtSignature } } }, 'openai'),
    );
  fc.assert(
    fc.property(fc.oneof(fc.string(), packed), fc.option(fc.string(), { nil: undefined }), (id, signed) => {
      const extensions = signed === undefined ? undefined : { gemini: { thoughtSignature: signed } };
      const call = { id: id || 'x', ...(extensions && { extensions }) };
      expect(decodeCallId(encodeCallId(call, 'anthropic'), new TextValues())).toEqual(call);
    }),
  );
});

test('a stranger’s id carries nothing that no server wants back', () => {
  const forged = Buffer.from('{"gemini":{"a":1},"openai":"x","__proto__":{"b":1}}').toString('base64url');
  expect(decodeCallId(`c-sluice1-${forged}`, new TextValues())).toEqual({ id: 'c' });
  expect(decodeCallId('-sluice1-e30', new TextValues())).toEqual({ id: '-sluice1-e30' });
});

test('nor anything that is nested too deeply to be written down again', () => {
  const deep = `{"openai":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
  const id = `c-sluice1-${Buffer.from(deep).toString('base64url')}`;
  expect(decodeCallId(id, new TextValues())).toEqual({ id: 'c' });
});
