import {
  collect,
  type FinishEvent,
  type FinishReason,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  type Message,
  SluiceError,
} from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClientCall, StreamMessage } from '../codec.ts';
import { SseParser } from '../sse.ts';
import { anthropic } from './index.ts';

const { client, server } = anthropic;
const call: ClientCall = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: {} };
const context = { id: '01a', createdAt: 7, model: 'm' };
type Drafts = ((block: number) => GenerationEvent[])[];

/** Text split anywhere, even between the halves of a character, which `withWholeCharacters` joins again. */
const pieces = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }), fc.array(fc.nat(29), { maxLength: 4 }))
  .map(([text, cuts]) => {
    const at = [0, ...cuts.filter((cut) => cut > 0 && cut < text.length).sort((a, b) => a - b), text.length];
    return at.slice(1).map((end, index) => text.slice(at[index], end));
  });
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/);
const input = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true });
const jsonPieces = input.map((value) => {
  const text = JSON.stringify(value);
  return [text.slice(0, 3), text.slice(3)];
});
const signature = fc.option(fc.stringMatching(/^E[a-zA-Z0-9+]{1,20}$/), { nil: undefined });

const textBlock = pieces.map(
  (texts) =>
    (block: number): GenerationEvent[] =>
      texts.map((text) => ({ type: 'text-delta', block, text })),
);
const reasoningBlock = fc.tuple(pieces, signature).map(([texts, signed]) => (block: number) => {
  const events: GenerationEvent[] = texts.map((text) => ({ type: 'reasoning-delta', block, text }));
  if (signed)
    events.push({ type: 'block-annotation', block, extensions: { anthropic: { signature: signed } } });
  return events;
});
const callBlock = fc.tuple(name, name, jsonPieces).map(([id, tool, fragments]) => (block: number) => {
  const deltas = fragments.map(
    (text): GenerationEvent => ({ type: 'tool-call-delta', block, arguments: text }),
  );
  const opening: GenerationEvent = { type: 'tool-call-start', block, id, name: tool };
  return [opening, ...deltas, { type: 'tool-call-end', block } satisfies GenerationEvent];
});
const opaqueBlock = fc.tuple(name, name).map(([type, value]) => (block: number): GenerationEvent[] => [
  { type: 'opaque', format: 'anthropic', value: { type: `x-${type}`, value }, block },
]);
const drafts: fc.Arbitrary<Drafts> = fc.array(fc.oneof(textBlock, reasoningBlock, callBlock, opaqueBlock), {
  maxLength: 6,
});

const finish: fc.Arbitrary<FinishEvent> = fc
  .record({
    reason: fc.constantFrom<FinishReason>('stop', 'length', 'content-filter'),
    stop: fc.option(fc.string({ maxLength: 5 }), { nil: undefined }),
    output: fc.nat(),
    // Every prompt has tokens: 0 is how servers say that they did not count.
    fresh: fc.integer({ min: 1, max: 100_000 }),
    read: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
    reasoning: fc.option(fc.nat(), { nil: undefined }),
  })
  .map(({ reason, stop, output, fresh, read, reasoning }) => ({
    type: 'finish',
    reason,
    ...(reason === 'stop' && stop !== undefined && { stopSequence: stop }),
    usage: {
      inputTokens: fresh + (read ?? 0),
      outputTokens: output,
      ...(read && { cacheReadTokens: read }),
      ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    },
  }));

const generations = fc.tuple(drafts, finish).map(([blocks, end]): GenerationEvent[] => {
  const content = blocks.flatMap((events, block) => events(block));
  // A reader goes by the calls if the reason does not fit them.
  const hasCall = content.some(({ type }) => type === 'tool-call-start');
  const asksToRun = hasCall && end.reason === 'stop' && end.stopSequence === undefined;
  return [
    { type: 'start', id: context.id, model: context.model, createdAt: context.createdAt, inputTokens: 3 },
    ...content,
    asksToRun ? { ...end, reason: 'tool-calls' } : end,
  ];
});

function encode(events: readonly GenerationEvent[]): string {
  const encoder = server.createStreamEncoder(call);
  return events.map((event) => encoder.push(event, 0)).join('');
}

function decode(chunks: Iterable<Uint8Array | string>): GenerationEvent[] {
  const parser = new SseParser();
  const decoder = client.createStreamDecoder(context);
  const events: GenerationEvent[] = [];
  for (const chunk of chunks) for (const message of parser.push(chunk)) events.push(...decoder.push(message));
  for (const message of parser.end()) events.push(...decoder.push(message));
  return [...events, ...decoder.end()];
}

describe('any generation', () => {
  test('is streamed and read back as itself', () => {
    fc.assert(
      fc.property(generations, (events) => {
        expect(findGrammarError(events)).toBeUndefined();
        const decoded = decode([encode(events)]);
        expect(findGrammarError(decoded)).toBeUndefined();
        expect(collect(decoded)).toEqual(collect(events));
      }),
    );
  });

  test('gives the same events however its bytes are split', () => {
    fc.assert(
      fc.property(
        generations,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (events, sizes) => {
          const bytes = new TextEncoder().encode(encode(events));
          const chunks: Uint8Array[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(decode(chunks)).toEqual(decode([bytes]));
        },
      ),
    );
  });

  test('is whole in a single body', () => {
    fc.assert(
      fc.property(generations, (events) => {
        const generation = collect(events);
        const decoded = client.decodeResponse(server.encodeResponse([generation], call), context);
        expect(findGrammarError(decoded)).toBeUndefined();
        expect(collect(decoded)).toEqual(generation);
      }),
    );
  });
});

const text = fc.string({ minLength: 1, maxLength: 12 }).filter((value) => /\S/.test(value));
const parts = fc.array(
  text.map((value) => ({ type: 'text' as const, text: value })),
  { minLength: 1, maxLength: 3 },
);
const user = parts.map((content): Message => ({ role: 'user', content }));
const assistant = fc.tuple(parts, fc.array(fc.tuple(name, name, input), { maxLength: 2 })).map(
  ([content, calls]): Message => ({
    role: 'assistant',
    content: [
      ...content,
      ...calls.map(([id, tool, value]) => ({
        type: 'tool-call' as const,
        id,
        name: tool,
        arguments: JSON.stringify(value),
      })),
    ],
  }),
);
const tool = fc.array(fc.tuple(name, parts, fc.boolean()), { minLength: 1, maxLength: 2 }).map(
  (results): Message => ({
    role: 'tool',
    content: results.map(([toolCallId, content, isError]) => ({
      type: 'tool-result',
      toolCallId,
      content,
      ...(isError && { isError }),
    })),
  }),
);
const round = fc.oneof(
  fc.tuple(assistant, user),
  fc.tuple(assistant, tool),
  fc.tuple(assistant, tool, user),
  fc.tuple(assistant, user, user),
);
const requests: fc.Arbitrary<InferenceRequest> = fc
  .record({
    system: fc.option(parts, { nil: undefined }),
    first: user,
    rounds: fc.array(round, { maxLength: 4 }),
    temperature: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    endUser: fc.option(name, { nil: undefined }),
    effort: fc.option(fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max', 'none'), { nil: undefined }),
    parallel: fc.option(fc.boolean(), { nil: undefined }),
    choice: fc.constantFrom('auto', 'required'),
  })
  // A call whose id occurs before, in another call or in a result, gets an id of its own, which is not what was said.
  .filter(({ rounds }) => {
    const seen = new Set<string>();
    return rounds.flat().every(({ content }) =>
      [...content].every((part) => {
        const isAgain = part.type === 'tool-call' && seen.has(part.id);
        if (part.type === 'tool-call') seen.add(part.id);
        if (part.type === 'tool-result') seen.add(part.toolCallId);
        return !isAgain;
      }),
    );
  })
  .map(({ system, first, rounds, temperature, endUser, effort, parallel, choice }) => ({
    model: 'm',
    messages: [...(system ? [{ role: 'system' as const, content: system }] : []), first, ...rounds.flat()],
    ...(parallel !== undefined && {
      tools: [{ type: 'function' as const, name: 'f', parameters: { type: 'object' } }],
      toolChoice: { type: effort && effort !== 'none' ? ('auto' as const) : choice },
      parallelToolCalls: parallel,
    }),
    sampling: { maxOutputTokens: 9, ...(temperature !== undefined && { temperature: temperature + 0 }) },
    ...(effort && { reasoning: { effort } }),
    ...(endUser !== undefined && { endUser }),
  }));

describe('any request', () => {
  test('that the dialect can express is encoded and read back as itself', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const { body, dropped, path } = client.encodeRequest(request, {
          model: 'm',
          stream: true,
          maxOutputTokens: 1,
        });
        const again = server.decodeRequest({ path, body, headers: {}, query: {}, requestId: 'r' });
        expect(dropped).toEqual([]);
        expect(again.request).toEqual(JSON.parse(JSON.stringify(request)));
      }),
    );
  });

  test('body, however strange, is decoded or refused', () => {
    const types = fc.constantFrom('text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'x');
    const block = fc.dictionary(
      fc.constantFrom('type', 'text', 'source', 'input', 'content', 'id', 'name', 'data', 'tool_use_id'),
      fc.oneof(fc.jsonValue(), types),
    );
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant', 'system', 7, null),
      content: fc.oneof(fc.jsonValue(), fc.array(block)),
    });
    const body = fc.record(
      {
        model: fc.oneof(fc.constant('m'), fc.jsonValue()),
        max_tokens: fc.oneof(fc.constant(9), fc.jsonValue()),
        messages: fc.oneof(fc.array(message), fc.jsonValue()),
        system: fc.oneof(fc.array(block), fc.jsonValue()),
        tools: fc.oneof(fc.array(fc.oneof(block, fc.jsonValue())), fc.jsonValue()),
        tool_choice: fc.oneof(block, fc.jsonValue()),
        thinking: fc.oneof(fc.dictionary(fc.constantFrom('type', 'display'), fc.jsonValue()), fc.jsonValue()),
        output_config: fc.jsonValue(),
        metadata: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
        const wire = { path: '/v1/messages', headers: {}, query: {}, requestId: 'r' };
        try {
          const { request } = server.decodeRequest({ ...wire, body: JSON.parse(JSON.stringify(value)) });
          client.encodeRequest(request, { model: 'm', stream: false, maxOutputTokens: 1 });
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SluiceError);
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe('a server that says anything', () => {
  const types = fc.constantFrom(
    ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
    ...['message_delta', 'message_stop', 'error', 'ping', 'novel'],
  );
  const field = fc.oneof(
    fc.jsonValue(),
    fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use', 'text_delta', 'input_json_delta') }),
    fc.record({ type: fc.constant('text_delta'), text: fc.string() }),
    fc.record({ type: fc.constant('tool_use'), id: fc.string(), name: fc.string() }),
  );
  const message = fc.oneof(
    fc.string().map((data): StreamMessage => ({ data })),
    fc
      .record({
        type: types,
        index: fc.nat(2),
        message: field,
        content_block: field,
        delta: field,
        usage: field,
      })
      .map((value): StreamMessage => ({ data: JSON.stringify(value) })),
  );

  test('in a stream is read as a legal generation', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
        const decoder = client.createStreamDecoder(context);
        const events = [...messages.flatMap((one) => decoder.push(one)), ...decoder.end()];
        expect(findGrammarError(events)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test('in a body is read as a legal generation', () => {
    const body = fc.record({ content: fc.array(fc.oneof(field, fc.jsonValue())), usage: fc.jsonValue() });
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
        expect(findGrammarError(client.decodeResponse(value, context))).toBeUndefined();
      }),
    );
  });

  test('in an error body is read as a kind of error', () => {
    const body = fc.record({
      error: fc.oneof(fc.record({ type: fc.string(), message: fc.string() }), fc.jsonValue()),
    });
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(body, fc.jsonValue()), (status, value) => {
        const error = client.decodeError(status, {}, value);
        expect(error.kind).toBeTypeOf('string');
        expect(error.message.length).toBeLessThanOrEqual(500);
      }),
    );
  });
});
