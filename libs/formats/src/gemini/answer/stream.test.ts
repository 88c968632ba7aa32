import {
  collect,
  findGrammarError,
  type Generation,
  type GenerationEvent,
  type JsonObject,
} from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClientCall } from '../../codec.ts';
import { SseParser } from '../../sse.ts';
import { encodeResponse } from './response.ts';
import { createStreamDecoder, decodeResponse } from './stream-decode.ts';
import { createStreamEncoder } from './stream-encode.ts';

const context = { id: 'g1', createdAt: 1, model: 'm' };
const start: GenerationEvent = { type: 'start', ...context, inputTokens: 9 };
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  usage: { inputTokens: 9, outputTokens: 3 },
};
const hi: GenerationEvent = { type: 'text-delta', block: 0, text: 'Hi' };

function call(wire: JsonObject = {}, choices = 1): ClientCall {
  return {
    stream: true,
    model: 'm',
    choices,
    requestId: 'r',
    wire: { sse: true, includeThoughts: true, ...wire },
  };
}

function encode(events: readonly GenerationEvent[], facts: ClientCall = call()): string {
  const encoder = createStreamEncoder(facts);
  return events.map((event) => encoder.push(event, 0)).join('');
}

function decode(pieces: Iterable<string | Uint8Array>): GenerationEvent[] {
  const [parser, decoder] = [new SseParser(), createStreamDecoder(context)];
  const events: GenerationEvent[] = [];
  for (const piece of pieces) for (const message of parser.push(piece)) events.push(...decoder.push(message));
  for (const message of parser.end()) events.push(...decoder.push(message));
  return [...events, ...decoder.end()];
}

describe('the encoder', () => {
  test('writes a call once it is whole, with a signature that comes after its end', () => {
    const encoder = createStreamEncoder(call());
    const written = [
      start,
      { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', block: 0, arguments: '{"a"' },
      { type: 'tool-call-delta', block: 0, arguments: ':1}' },
      { type: 'tool-call-end', block: 0, extensions: { gemini: { partMetadata: { x: 1 } } } },
      { type: 'block-annotation', block: 0, extensions: { gemini: { thoughtSignature: 's' } } },
    ].map((event) => encoder.push(event as GenerationEvent, 0));
    expect(written.join('')).toBe('');
    expect(encoder.push(finish, 0)).toContain(
      '{"functionCall":{"id":"c","name":"f","args":{"a":1}},"partMetadata":{"x":1},"thoughtSignature":"s"}',
    );
  });

  // Before version 2, the SDK for Python runs the functions of each chunk, but goes on with the results of the last.
  test('writes all calls at the end of an answer in the chunk with its reason to finish', () => {
    const whole = (block: number): GenerationEvent[] => [
      { type: 'tool-call-start', block, id: `c${block}`, name: 'f' },
      { type: 'tool-call-delta', block, arguments: '{"a":1}' },
      { type: 'tool-call-end', block },
    ];
    const chunks = (events: GenerationEvent[]) =>
      JSON.parse(encode([start, ...events, finish], call({ sse: false })));
    const callPart = (block: number) => ({ functionCall: { id: `c${block}`, name: 'f', args: { a: 1 } } });
    const candidate = (...parts: JsonObject[]) => ({ candidates: [{ content: { parts } }] });
    const last = (...parts: JsonObject[]) => ({
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
      usageMetadata: { candidatesTokenCount: 3 },
    });
    expect(chunks([hi, ...whole(1), ...whole(2)])).toMatchObject([
      candidate({ text: 'Hi' }),
      last(callPart(1), callPart(2)),
    ]);
    const after: GenerationEvent = { type: 'text-delta', block: 2, text: 'Bye' };
    expect(chunks([...whole(0), ...whole(1), after])).toMatchObject([
      candidate(callPart(0), callPart(1)),
      candidate({ text: 'Bye' }),
      last({ text: '' }),
    ]);
  });

  test('continues a call after an event that passes by', () => {
    const inTheMiddle = (event: GenerationEvent): GenerationEvent[] => [
      start,
      { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', block: 0, arguments: '{"a"' },
      event,
      { type: 'tool-call-delta', block: 0, arguments: ':1}' },
      { type: 'tool-call-end', block: 0 },
      finish,
    ];
    const whole = '{"functionCall":{"id":"c","name":"f","args":{"a":1}}}';
    for (const format of ['openai', 'anthropic', 'gemini']) {
      const text = encode(inTheMiddle({ type: 'opaque', format, value: { note: 'x' } }));
      expect(text).toContain(whole);
      expect(text.split('functionCall')).toHaveLength(2);
      expect(text.startsWith('data: {"note":"x"}\n\n')).toBe(format === 'gemini');
    }
  });

  test('does not show a call that an error breaks off', () => {
    const call: GenerationEvent[] = [
      { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', block: 0, arguments: '{"a"' },
    ];
    const error: GenerationEvent = { type: 'error', error: { kind: 'unavailable', message: 'gone' } };
    expect(encode([start, ...call, error])).toBe(encode([start, error]));
  });

  test('reports what was read from a cache with the first chunk', () => {
    const first = decode([
      'data: {"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"totalTokenCount":9}}\n\n',
    ]);
    expect(first[0]).toEqual({ ...start, cacheReadTokens: 4 });
    expect(encode([...first.slice(0, 1), hi])).toContain(
      '"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,',
    );
  });

  test('ignores annotations and blocks of other formats', () => {
    const extensions = { anthropic: { citations: [] } };
    const foreign: GenerationEvent[] = [
      { type: 'block-annotation', block: 0, extensions },
      { type: 'opaque', format: 'anthropic', value: {}, block: 1 },
      { type: 'opaque', format: 'anthropic', value: {} },
    ];
    expect(encode([start, hi, ...foreign, finish])).toBe(encode([start, hi, finish]));
  });

  test('passes an event of its own format on verbatim', () => {
    expect(encode([start, { type: 'opaque', format: 'gemini', value: { note: 'x' } }])).toBe(
      'data: {"note":"x"}\n\n',
    );
  });

  test('is silent after its end, whatever still comes', () => {
    const encoder = createStreamEncoder(call());
    for (const event of [start, hi, finish]) encoder.push(event, 0);
    expect(encoder.push(hi, 0) + encoder.push(finish, 0) + encoder.keepAlive() + encoder.push(hi, 7)).toBe(
      '',
    );
  });

  test('reports what cut off a call as the finish reason', () => {
    const cut: GenerationEvent[] = [
      { type: 'tool-call-start', block: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', block: 0, arguments: '{"a":"' },
      { type: 'tool-call-end', block: 0 },
      { type: 'finish', reason: 'length', usage: {} },
    ];
    expect(encode([start, ...cut])).toContain('"finishReason":"MAX_TOKENS"');
    // A client that runs every call would run it without arguments.
    expect(encode([start, ...cut])).not.toContain('functionCall');
    const single = JSON.stringify(encodeResponse([collect([start, ...cut])], call()));
    expect(single).toContain('"finishReason":"MAX_TOKENS"');
    expect(single).not.toContain('functionCall');
  });

  test('keeps the calls before a cut-off one, and a whole one however the answer ended', () => {
    const whole = (block: number): GenerationEvent[] => [
      { type: 'tool-call-start', block, id: `c${block}`, name: 'f' },
      { type: 'tool-call-delta', block, arguments: '{"a":1}' },
      { type: 'tool-call-end', block },
    ];
    const begun: GenerationEvent[] = [
      { type: 'tool-call-start', block: 1, id: 'c1', name: 'g' },
      { type: 'tool-call-delta', block: 1, arguments: '{"a":' },
    ];
    const ended: GenerationEvent = { type: 'finish', reason: 'length', usage: {} };
    expect(encode([start, ...whole(0), ...begun, ended])).toContain('"functionCall":{"id":"c0"');
    expect(encode([start, ...whole(0), ...begun, ended])).not.toContain('"c1"');
    expect(encode([start, ...whole(0), ended])).toContain('"functionCall":{"id":"c0"');
  });

  test('leaves other choices running when one is done, and ends all of them on an error', () => {
    const encoder = createStreamEncoder(call({ sse: false }, 2));
    const text = [
      encoder.push(start, 0),
      encoder.push(finish, 0),
      encoder.push({ ...start, id: 'g2' }, 1),
      encoder.push(hi, 1),
      encoder.push({ type: 'error', error: { kind: 'unavailable', message: 'gone' } }, 1),
      encoder.push(finish, 0),
    ].join('');
    const chunks: unknown = JSON.parse(text);
    expect(chunks).toMatchObject([
      { candidates: [{ index: 0, finishReason: 'STOP' }], responseId: 'g1' },
      { candidates: [{ index: 1, content: { parts: [{ text: 'Hi' }] } }], responseId: 'g1' },
      { error: { code: 503, status: 'UNAVAILABLE' } },
    ]);
  });

  test('every chunk that has content holds a part, because a chat of the SDK drops answers otherwise', () => {
    for (const block of encode([start, hi, finish]).split('\n\n').filter(Boolean)) {
      expect(JSON.parse(block.slice(6))).toMatchObject({
        candidates: [{ content: { role: 'model', parts: [{}] } }],
      });
    }
  });
});

test('an event is one line to a reader that ends lines as Python does', () => {
  const words = 'a\u0085b\u2028c\u2029d\ve\u001cf';
  const text = encode([start, { type: 'text-delta', block: 0, text: words }, finish]);
  const ends = '\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029';
  const lines = Array.from(text, (sign) => (ends.includes(sign) ? '\n' : sign))
    .join('')
    .split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('data: '))).toEqual([]);
  expect(collect(decode([text])).content).toEqual([{ type: 'text', text: words }]);
});

describe('keep-alives', () => {
  test('are the beginning of the next event, since some SDK fails at anything between two events', () => {
    const encoder = createStreamEncoder(call());
    const pieces = [start, hi, hi, finish].map(
      (event) => encoder.keepAlive() + encoder.keepAlive() + encoder.push(event, 0),
    );
    for (const piece of pieces) expect(piece).not.toBe('');
    const text = pieces.join('');
    // As the older SDK for JavaScript reads, which fails at anything that is left over.
    expect(text.replace(/data: (.*)\n\n/g, (_, json) => (JSON.parse(json) ? '' : 'x'))).toBe('');
    // As the SDK for Python reads: any line that is neither empty nor data must be JSON.
    const lines = text.split('\n').filter((line) => line !== '');
    expect(lines.filter((line) => !line.startsWith('data: '))).toEqual([]);
    // As the SDK for Go reads: between two line ends there is data or nothing, not even a line end.
    const messages = text.split('\n\n').filter((message) => message !== '');
    expect(messages).toEqual(lines);
    expect(collect(decode([text])).content).toEqual([{ type: 'text', text: 'HiHi' }]);
    expect(encoder.contentType).toBe('text/event-stream; charset=utf-8');
  });

  test('are the opening bracket of an array, and then white space inside it', () => {
    const encoder = createStreamEncoder(call({ sse: false }));
    const pieces = [start, hi, hi, finish].map((event) => encoder.keepAlive() + encoder.push(event, 0));
    expect(pieces[0]).not.toBe('');
    expect(JSON.parse(pieces.join(''))).toHaveLength(3);
    // As the REST clients for Python read: outside of the brackets there is nothing, not even white space.
    expect(pieces.join('')).toMatch(/^\[.*\]$/s);
    expect(encoder.contentType).toBe('application/json');
  });

  test('an array of an answer without content, or of nothing but an error, can be parsed', () => {
    const array = call({ sse: false });
    expect(JSON.parse(encode([start, finish], array))).toHaveLength(1);
    const error: GenerationEvent = { type: 'error', error: { kind: 'internal', message: 'internal error' } };
    expect(JSON.parse(encode([error], array))).toMatchObject([{ error: { code: 500 } }]);
  });
});

describe('the decoder', () => {
  test.each([
    'not json',
    '[1]',
    '"text"',
    '{"candidates":7}',
    '{"candidates":[{"content":{"parts":[{"text":1}]}}]}',
  ])('takes %s for a failure of the upstream, once', (data) => {
    const decoder = createStreamDecoder(context);
    expect(decoder.push({ data })).toMatchObject([{ type: 'error', error: { kind: 'upstream-failed' } }]);
    expect([...decoder.push({ data: '{}' }), ...decoder.end()]).toEqual([]);
  });

  test('ignores the end marker of another dialect', () => {
    expect(createStreamDecoder(context).push({ data: '[DONE]' })).toEqual([]);
  });

  test('takes a stream that is cut off after a keep-alive for one that ended too early', () => {
    const encoder = createStreamEncoder(call());
    const text = encoder.push(start, 0) + encoder.push(hi, 0) + encoder.keepAlive() + encoder.keepAlive();
    expect(decode([text]).at(-1)).toMatchObject({
      type: 'error',
      error: {
        kind: 'upstream-failed',
        message: 'the upstream closed the stream before the answer was complete',
      },
    });
  });

  test('keeps an unknown event as one without a block', () => {
    const [, event] = createStreamDecoder(context).push({ data: '{"newThing":{"a":1}}' });
    expect(event).toEqual({ type: 'opaque', format: 'gemini', value: { newThing: { a: 1 } } });
  });

  test('counts a picture when it comes, and not only at the end, which its client may not wait for', () => {
    const chunk = (part: JsonObject, candidatesTokenCount: number) =>
      `data: ${JSON.stringify({
        candidates: [{ content: { parts: [part] } }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount },
      })}\n\n`;
    const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
    const events = decode([
      chunk({ text: 'Here.' }, 2),
      chunk(picture, 1292),
      chunk({ text: 'Done.' }, 1295),
    ]);
    expect(events.slice(1, 4)).toMatchObject([
      { type: 'text-delta', tokens: 2 },
      { type: 'opaque', tokens: 1290 },
      { type: 'text-delta', tokens: 3 },
    ]);
  });

  test('starts another part after a signature, so that it signs only what was before it', () => {
    const parts = [{ text: 'a', thoughtSignature: 's' }, { text: 'b' }, { text: '', thoughtSignature: 't' }];
    const body = { candidates: [{ content: { parts }, finishReason: 'STOP' }] };
    expect(collect(decodeResponse(body, context)).content).toEqual([
      { type: 'text', text: 'a', extensions: { gemini: { thoughtSignature: 's' } } },
      { type: 'text', text: 'b', extensions: { gemini: { thoughtSignature: 't' } } },
    ]);
  });

  test('leaves out every call but the first for a client that accepts one', () => {
    const say = (part: JsonObject, finishReason?: string) =>
      JSON.stringify({ candidates: [{ content: { parts: [part] }, finishReason }] });
    const decoder = createStreamDecoder({ ...context, isSingleCall: true });
    const events = [
      say({ text: 'Both. ' }),
      say({ functionCall: { id: '1', name: 'f', args: { a: 1 } } }),
      say({ functionCall: { id: '2', name: 'g' } }),
      say({ text: 'So.' }, 'STOP'),
    ].flatMap((data) => decoder.push({ data }));
    events.push(...decoder.end());
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events)).toMatchObject({
      content: [
        { type: 'text', text: 'Both. ' },
        { type: 'tool-call', id: '1', name: 'f' },
        { type: 'text', text: 'So.' },
      ],
      finish: { reason: 'tool-calls' },
    });
  });

  test('reads a single body that is no answer as a failure', () => {
    for (const body of [undefined, null, 'text', [], 5]) {
      expect(decodeResponse(body, context)).toMatchObject([
        { type: 'error', error: { kind: 'upstream-failed' } },
      ]);
    }
  });

  test('never throws, whatever JSON comes', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        const events = decode(values.map((value) => `data: ${JSON.stringify(value)}\n\n`));
        expect(findGrammarError(events)).toBeUndefined();
      }),
    );
  });
});

const signature = fc.record({ gemini: fc.record({ thoughtSignature: fc.string() }) });
const fragments = fc.array(fc.string({ minLength: 1, unit: 'binary' }), { minLength: 1, maxLength: 4 });
const block = fc.oneof(
  fc.record({
    kind: fc.constantFrom('text' as const, 'reasoning' as const),
    fragments,
    signature: fc.option(signature),
  }),
  fc.record({
    kind: fc.constant('call' as const),
    args: fc.dictionary(fc.string(), fc.jsonValue()),
    cut: fc.nat({ max: 20 }),
    signature: fc.option(signature),
  }),
  fc.record({ kind: fc.constant('opaque' as const), code: fc.string() }),
);
type Block = typeof block extends fc.Arbitrary<infer Value> ? Value : never;
const usage = fc.oneof(
  fc.constant({}),
  fc.record({ inputTokens: fc.integer({ min: 1, max: 100_000 }), outputTokens: fc.nat({ max: 100_000 }) }),
  fc.record({
    inputTokens: fc.integer({ min: 1, max: 100_000 }),
    outputTokens: fc.integer({ min: 100, max: 100_000 }),
    cacheReadTokens: fc.integer({ min: 1 }),
    reasoningTokens: fc.integer({ min: 1, max: 100 }),
  }),
);

function contentEvents(content: Block, index: number): GenerationEvent[] {
  const annotation: GenerationEvent[] =
    content.kind !== 'opaque' && content.signature
      ? [{ type: 'block-annotation', block: index, extensions: content.signature }]
      : [];
  if (content.kind === 'opaque') {
    const value = { executableCode: { code: content.code } };
    return [{ type: 'opaque', format: 'gemini', value, block: index }];
  }
  if (content.kind === 'call') {
    const args = JSON.stringify(content.args);
    return [
      { type: 'tool-call-start', block: index, id: `c${index}`, name: 'f' },
      { type: 'tool-call-delta', block: index, arguments: args.slice(0, content.cut) },
      { type: 'tool-call-delta', block: index, arguments: args.slice(content.cut) },
      { type: 'tool-call-end', block: index },
      ...annotation,
    ];
  }
  const type = content.kind === 'text' ? 'text-delta' : 'reasoning-delta';
  return [
    ...content.fragments.map((fragment) => ({ type, block: index, text: fragment }) as const),
    ...annotation,
  ];
}

/**
 * Answers as the dialect can express them: unsigned text is not followed by more text, and STOP after a call means
 * calls.
 */
const answers = fc
  .record({
    blocks: fc.array(block, { maxLength: 6 }),
    reason: fc.constantFrom(
      'natural' as const,
      'length' as const,
      'content-filter' as const,
      'other' as const,
    ),
    usage,
  })
  .map(({ blocks, reason, usage }): GenerationEvent[] => {
    const apart = blocks.filter((one, index) => {
      const before = blocks[index - 1];
      return !before || before.kind !== one.kind || one.kind === 'call' || one.kind === 'opaque';
    });
    const natural = apart.some(({ kind }) => kind === 'call') ? 'tool-calls' : 'stop';
    return [
      { type: 'start', ...context },
      ...apart.flatMap(contentEvents),
      { type: 'finish', reason: reason === 'natural' ? natural : reason, usage },
    ];
  });

/** The JSON text of arguments may be written in more than one way. */
function comparable(events: readonly GenerationEvent[]): Generation {
  const generation = collect(events);
  const content = generation.content.map((part) =>
    part.type === 'tool-call' ? { ...part, arguments: JSON.stringify(JSON.parse(part.arguments)) } : part,
  );
  return { ...generation, content };
}

test('a single body of which one choice was refused holds the others', () => {
  const refused: GenerationEvent = {
    ...finish,
    reason: 'content-filter',
    extensions: { gemini: { response: { promptFeedback: { blockReason: 'SAFETY' } } } },
  };
  const [none, some] = [collect([start, refused]), collect([start, hi, finish])];
  expect(encodeResponse([none, some], call({}, 2))).toMatchObject({
    candidates: [{ finishReason: 'SAFETY' }, { content: { parts: [{ text: 'Hi' }] } }],
  });
  expect(encodeResponse([none, none], call({}, 2))).not.toHaveProperty('candidates');
});

test('any answer that was encoded is decoded to the same answer, streamed or not', () => {
  fc.assert(
    fc.property(answers, (events) => {
      expect(findGrammarError(events)).toBeUndefined();
      const streamed = decode([encode(events)]);
      expect(findGrammarError(streamed)).toBeUndefined();
      const wanted = comparable(events);
      expect(comparable(streamed)).toEqual(wanted);
      expect(comparable(decodeResponse(encodeResponse([wanted], call()), context))).toEqual(wanted);
    }),
    { numRuns: 300 },
  );
});

test('any split of the bytes gives the same events', () => {
  fc.assert(
    fc.property(answers, fc.array(fc.nat({ max: 400 })), (events, cuts) => {
      const text = encode(events);
      const bytes = new TextEncoder().encode(text);
      const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(decode(pieces)).toEqual(decode([text]));
    }),
  );
});

test('an array stream holds the chunks of the event stream', () => {
  fc.assert(
    fc.property(answers, (events) => {
      const framed = encode(events).split('\n\n').filter(Boolean);
      expect(JSON.parse(encode(events, call({ sse: false })))).toEqual(
        framed.map((one) => JSON.parse(one.slice(6))),
      );
    }),
  );
});
