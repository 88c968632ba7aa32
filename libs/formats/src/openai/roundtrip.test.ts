import {
  type AssistantMessage,
  type AssistantPart,
  collect,
  extend,
  type FinishReason,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  type JsonObject,
  type Message,
  SluiceError,
  type ToolMessage,
} from '@sluice/canonical';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClientCall } from '../codec.ts';
import { SseParser } from '../sse.ts';
import { openai } from './index.ts';

const { client, server } = openai;
const context = { id: 'gen1', createdAt: 1763712000123, model: 'm' };
const call: ClientCall = {
  stream: true,
  model: 'm',
  choices: 1,
  requestId: 'r',
  wire: { includeUsage: true, legacyFunctions: false },
};

/** Every field of the shape is absent as often as present. */
const optional = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T, never>(shape, { requiredKeys: [] });

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
const word = fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/);
const fragments = fc.array(fc.string({ unit: 'binary', maxLength: 5 }), { minLength: 1, maxLength: 4 });
const visible = fragments.filter((pieces) => pieces.join('') !== '');
/** Blank pieces before anything else say nothing, and are left out. */
const args = fragments.filter((pieces) => (pieces.find((piece) => piece !== '') ?? '').trim() !== '');
const count = fc.nat(100_000);
/** Through JSON text once, because JSON has no -0. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
const fields = fc.dictionary(
  fc.constantFrom('x_a', 'x_b'),
  json.filter((value) => value !== null),
);

type Block =
  | { kind: 'text' | 'reasoning'; pieces: string[] }
  | { kind: 'call'; id: string; name: string; pieces: string[] };
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text' as const, 'reasoning' as const), pieces: visible }),
  fc.record({ kind: fc.constant('call' as const), id: word, name: word, pieces: args }),
);
const usage = fc.oneof(
  fc.constant({}),
  // Every prompt has tokens: 0 is how servers say that they did not count.
  fc.record({ inputTokens: fc.integer({ min: 1, max: 100_000 }), outputTokens: count }).chain((known) =>
    optional<Record<string, number>>({
      cacheReadTokens: count,
      cacheWriteTokens: count,
      // A part of the output; counts of servers that report it beside the output are read otherwise.
      reasoningTokens: fc.nat(known.outputTokens),
    }).map((more) => ({ ...known, ...more })),
  ),
);

function eventsOf({ kind, ...rest }: Block, index: number): GenerationEvent[] {
  const { pieces } = rest;
  if (kind === 'text') return pieces.map((piece) => ({ type: 'text-delta', block: index, text: piece }));
  if (kind === 'reasoning')
    return pieces.map((piece) => ({ type: 'reasoning-delta', block: index, text: piece }));
  const { id, name } = rest as { id: string; name: string };
  return [
    { type: 'tool-call-start', block: index, id: `${id}${index}`, name },
    ...pieces.map((piece): GenerationEvent => ({ type: 'tool-call-delta', block: index, arguments: piece })),
    { type: 'tool-call-end', block: index },
  ];
}

/** Whole generations, as far as the dialect can express them: it has no border between texts. */
const generation = fc
  .record({
    blocks: fc.array(block, { maxLength: 6 }),
    usage,
    reason: fc.constantFrom<FinishReason>('stop', 'length', 'content-filter'),
    kept: fields,
    message: fields,
  })
  .map(({ blocks, usage, reason, kept, message }) => {
    const apart = blocks.filter(({ kind }, index) => kind === 'call' || blocks[index - 1]?.kind !== kind);
    const hasCalls = apart.some(({ kind }) => kind === 'call');
    const events: GenerationEvent[] = [
      { type: 'start', ...context, ...extend('openai', kept) },
      ...apart.flatMap(eventsOf),
    ];
    const unknown = Object.keys(message).length > 0;
    if (unknown) events.push({ type: 'opaque', format: 'openai', value: { delta: message } });
    const finish = hasCalls && reason === 'stop' ? 'tool-calls' : reason;
    return [
      ...events,
      { type: 'finish' as const, reason: finish, usage, ...extend('openai', unknown ? { message } : {}) },
    ];
  });

function encode(events: readonly GenerationEvent[]): string {
  const encoder = server.createStreamEncoder(call);
  return events.map((event) => encoder.push(event, 0)).join('');
}

function decode(pieces: readonly Uint8Array[]): GenerationEvent[] {
  const parser = new SseParser();
  const decoder = client.createStreamDecoder(context);
  const messages = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
  return [...messages.flatMap((message) => decoder.push(message)), ...decoder.end()];
}

test('a streamed generation is read back unchanged', () => {
  fc.assert(
    fc.property(generation, fc.array(fc.nat(), { maxLength: 5 }), (events, places) => {
      expect(findGrammarError(events)).toBeUndefined();
      const bytes = new TextEncoder().encode(encode(events));
      const cuts = places.map((place) => place % bytes.length).sort((a, b) => a - b);
      const pieces = [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
      const decoded = decode(pieces);
      expect(findGrammarError(decoded)).toBeUndefined();
      expect(collect(decoded)).toEqual(collect(events));
    }),
  );
});

test('a stream adds up to the single body of the same generation', () => {
  fc.assert(
    fc.property(generation, (events) => {
      const streamed = collect(decode([new TextEncoder().encode(encode(events))]));
      expect(server.encodeResponse([streamed], call)).toEqual(server.encodeResponse([collect(events)], call));
    }),
  );
});

const own = (filed: fc.Arbitrary<JsonObject>) => filed.map((kept) => extend('openai', kept));
const textPart = fc
  .tuple(text, own(fields))
  .map(([text, kept]) => ({ type: 'text' as const, text, ...kept }));
const base64 = fc.constantFrom('AAAA', 'aGk=');
const mediaPart = fc
  .tuple(
    fc.oneof(
      fc.record({
        mediaType: fc.constantFrom('image/png', 'audio/mpeg', 'audio/wav'),
        source: fc.record({ type: fc.constant('base64' as const), data: base64 }),
      }),
      fc.record({
        mediaType: fc.constant('application/pdf'),
        filename: word,
        source: fc.record({ type: fc.constant('base64' as const), data: base64 }),
      }),
      fc.record({
        mediaType: fc.constant('image/*'),
        source: fc.record({ type: fc.constant('url' as const), url: word.map((host) => `https://${host}/`) }),
      }),
      fc.record({
        mediaType: fc.constant('application/octet-stream'),
        source: fc.record({ type: fc.constant('file-id' as const), id: word }),
      }),
    ),
    own(fields),
  )
  .map(([media, kept]) => ({ type: 'media' as const, ...media, ...kept }));
const opaquePart = fields.map((value) => ({
  type: 'opaque' as const,
  format: 'openai',
  value: { type: 'x_part', ...value },
}));

/** Blank arguments are no arguments: a server gets an empty object. */
const callArguments = text.filter((value) => value.trim() !== '');

const assistant: fc.Arbitrary<AssistantMessage> = fc
  .record({
    reasoning: fc.array(text, { maxLength: 1 }),
    texts: fc.array(fc.oneof(textPart, opaquePart), { maxLength: 2 }),
    calls: fc.array(fc.record({ id: word, name: word, args: callArguments }), { maxLength: 2 }),
    kept: own(fields),
  })
  .map(({ reasoning, texts, calls, kept }) => {
    const content: AssistantPart[] = [
      ...reasoning.map((text) => ({ type: 'reasoning' as const, text })),
      ...texts,
      ...calls.map(({ id, name, args }) => ({ type: 'tool-call' as const, id, name, arguments: args })),
    ];
    return { role: 'assistant', content, ...kept };
  });
const tool: fc.Arbitrary<ToolMessage> = fc
  .array(
    fc.record({
      type: fc.constant('tool-result' as const),
      toolCallId: word,
      content: fc.array(textPart, { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((content) => ({ role: 'tool', content }));
const message: fc.Arbitrary<Message> = fc.oneof(
  fc
    .tuple(fc.array(fc.oneof(textPart, opaquePart), { minLength: 1, maxLength: 2 }), own(fields))
    .map(([content, kept]) => ({ role: 'system' as const, content, ...kept })),
  fc
    .tuple(fc.array(fc.oneof(textPart, mediaPart, opaquePart), { minLength: 1, maxLength: 3 }), own(fields))
    .map(([content, kept]) => ({ role: 'user' as const, content, ...kept })),
  assistant,
  tool,
);

const request: fc.Arbitrary<InferenceRequest> = fc
  .tuple(
    fc.array(message, { minLength: 1, maxLength: 5 }),
    optional({
      maxOutputTokens: fc.integer({ min: 1, max: 1_000_000 }),
      temperature: fc.constantFrom(0, 0.7, 2),
      topP: fc.constantFrom(0, 0.25, 1),
      topK: fc.integer({ min: 1, max: 100 }),
      seed: fc.integer(),
      stopSequences: fc.array(text, { minLength: 1, maxLength: 3 }),
    }),
    optional({
      tools: fc.array(
        fc.tuple(fc.record({ name: word, parameters: fields }), own(fields)).map(([tool, kept]) => ({
          type: 'function' as const,
          ...tool,
          ...kept,
        })),
        { maxLength: 3 },
      ),
      toolChoice: fc.oneof(
        fc.record({ type: fc.constantFrom('auto' as const, 'required' as const, 'none' as const) }),
        fc.record({ type: fc.constantFrom('auto' as const, 'required' as const), allowed: fc.array(word) }),
        fc.record({ type: fc.constant('tool' as const), name: word }),
      ),
      parallelToolCalls: fc.boolean(),
      output: fc.oneof(
        fc.record({ type: fc.constant('text' as const) }),
        fc.record({ type: fc.constant('json' as const) }),
        fc.record({ type: fc.constant('json' as const), name: word, schema: fields, strict: fc.boolean() }),
      ),
      reasoning: fc.record({ effort: fc.constantFrom('none' as const, 'low' as const, 'max' as const) }),
      logprobs: fc.record({ alternatives: fc.integer({ min: 0, max: 20 }) }),
      endUser: word,
    }),
    own(fields),
  )
  .map(([messages, sampling, options, kept]) => {
    // Adjacent results are one turn.
    const turns = messages.filter(
      ({ role }, index) => role !== 'tool' || messages[index - 1]?.role !== 'tool',
    );
    return { model: 'm', messages: turns, sampling, ...options, ...kept } as InferenceRequest;
  });

test('a request is read back unchanged by a server of the dialect', () => {
  fc.assert(
    fc.property(request, (wanted) => {
      const { body, dropped } = client.encodeRequest(wanted, {
        model: 'm',
        stream: true,
        maxOutputTokens: 9,
      });
      const wire = {
        path: '',
        headers: {},
        query: {},
        requestId: 'r',
        body: JSON.parse(JSON.stringify(body)),
      };
      expect(server.decodeRequest(wire).request).toEqual(JSON.parse(JSON.stringify(wanted)));
      expect(dropped).toEqual([]);
    }),
  );
});

const anything = fc.oneof(fc.jsonValue(), text, fc.constant(null));
const odd = (names: string[]) => fc.dictionary(fc.constantFrom(...names), anything);
const oddPart = odd(['type', 'text', 'image_url', 'file', 'input_audio', 'refusal']).chain((part) =>
  fc.constantFrom('text', 'image_url', 'file', 'input_audio', 'x').map((type) => ({ ...part, type })),
);
const oddCall = odd(['index', 'id', 'type', 'custom']).chain((call) =>
  fc.oneof(odd(['name', 'arguments']), anything).map((body) => ({ ...call, function: body })),
);
const oddMessage = odd([
  'tool_call_id',
  'name',
  'refusal',
  'function_call',
  'reasoning',
  'reasoning_content',
]).chain((rest) =>
  fc
    .record({
      role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'function', 'x'),
      content: fc.oneof(anything, fc.array(fc.oneof(oddPart, anything))),
      tool_calls: fc.oneof(fc.array(oddCall), anything),
    })
    .map((message) => ({ ...rest, ...message })),
);
const oddBody = odd([
  'stop',
  'n',
  'tools',
  'tool_choice',
  'response_format',
  'functions',
  'function_call',
  'user',
]).chain((rest) =>
  fc.array(fc.oneof(oddMessage, anything)).map((messages) => ({ ...rest, model: 'm', messages })),
);

test('any body is decoded or refused as invalid', () => {
  fc.assert(
    fc.property(fc.oneof(oddBody, anything), (body) => {
      try {
        server.decodeRequest({ path: '', headers: {}, query: {}, requestId: 'r', body });
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(SluiceError);
        expect(thrown).toMatchObject({ kind: 'invalid-request' });
      }
    }),
    { numRuns: 500 },
  );
});

const oddChunk = odd(['usage', 'error', 'object', 'id', 'system_fingerprint']).chain((rest) =>
  fc
    .array(
      fc.oneof(
        anything,
        fc.record({
          index: fc.constantFrom(0, 0, 1, null, 'x'),
          delta: fc.oneof(oddMessage, anything),
          finish_reason: fc.oneof(fc.constantFrom('stop', 'abort', null, ''), anything),
          logprobs: fc.oneof(anything, fc.record({ content: anything })),
        }),
      ),
    )
    .map((choices) => ({ ...rest, choices })),
);

test('whatever a server sends becomes a legal generation', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(oddChunk, anything)), fc.boolean(), (chunks, isDone) => {
      const decoder = client.createStreamDecoder(context);
      const data = [...chunks.map((chunk) => JSON.stringify(chunk)), ...(isDone ? ['[DONE]'] : [])];
      const events = [...data.flatMap((data) => decoder.push({ data })), ...decoder.end()];
      expect(findGrammarError(events)).toBeUndefined();
      for (const chunk of chunks)
        expect(findGrammarError(client.decodeResponse(chunk, context))).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test('whatever a server answers with an error status becomes an error', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 400, max: 599 }),
      fc.oneof(anything, odd(['error', 'message', 'detail'])),
      (status, body) => {
        const { kind, message } = client.decodeError(status, {}, body);
        expect(kind).not.toBe('internal');
        expect(message.length).toBeLessThanOrEqual(500);
      },
    ),
  );
});
