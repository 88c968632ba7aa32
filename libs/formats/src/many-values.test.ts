import { type Json, SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { formats } from './registry.ts';

/*
 * Small bodies that take long: what is looked at again for each of a hundred thousand, or said wrong about each, holds
 * up everybody else's requests. Where one of these is slow it runs into the time limit of its test.
 */

/** More than the ingress lets through at once. */
const many = 200_000;
const bad = Array.from({ length: many }, () => 1);

interface Call {
  path: string;
  body(messages: Json): Json;
  /** A body whose stop strings are these. */
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

  it('may name many stop strings, not any number', () => {
    const stops = Array.from({ length: 256 }, (_, index) => `stop ${index}`);
    expect(decode(format, call.stops(stops)).sampling.stopSequences).toEqual(stops);
    expect(refusalOf(format, call.stops([...stops, 'one more']))).toMatchObject({
      kind: 'invalid-request',
      message: expect.stringMatching(/^(generationConfig\.)?stop(_?[sS]equences)?: /),
    });
  });
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
          toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: names } },
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
