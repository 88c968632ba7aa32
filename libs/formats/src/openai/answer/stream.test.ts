import {
  collect,
  findGrammarError,
  type GenerationEvent,
  isContent,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import type { ClientCall } from '../../codec.ts';
import { decodeResponse } from './response.ts';
import { ChatStreamDecoder } from './stream-decode.ts';
import { ChatStreamEncoder } from './stream-encode.ts';

const context = { id: 'g1', createdAt: 1000, model: 'm' };
const start: GenerationEvent = { type: 'start', ...context };
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  usage: { inputTokens: 1, outputTokens: 2 },
};
const text = (text: string): GenerationEvent => ({ type: 'text-delta', block: 0, text });

function encoder(call: Partial<ClientCall> = {}): ChatStreamEncoder {
  return new ChatStreamEncoder({ stream: true, model: 'm', choices: 1, requestId: 'r', wire: {}, ...call });
}

function chunksOf(stream: string): Json[] {
  const lines = stream.split('\n\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}

describe('ChatStreamEncoder', () => {
  test('a delta is one chunk, byte for byte', () => {
    const stream = encoder();
    stream.push(start, 0);
    expect(stream.push(text('a"\n'), 0)).toBe(
      'data: {"id":"chatcmpl-g1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,' +
        '"delta":{"content":"a\\"\\n"},"logprobs":null,"finish_reason":null}]}\n\n',
    );
  });

  test('lists and objects of the body are in the first chunk only, and plain fields in every chunk', () => {
    const stream = encoder();
    const extensions = { openai: { prompt_token_ids: [1, 2], filter: { hate: false }, tier: 'default' } };
    const [first, ...others] = chunksOf(
      stream.push({ ...start, extensions }, 0) + stream.push(text('a'), 0) + stream.push(finish, 0),
    );
    expect(first).toMatchObject(extensions.openai);
    expect(others).toHaveLength(2);
    for (const chunk of others) {
      expect(chunk).toMatchObject({ tier: 'default' });
      expect(chunk).not.toHaveProperty('prompt_token_ids');
      expect(chunk).not.toHaveProperty('filter');
    }
  });

  test('a field of the body that changes is in the last chunk once, with its last value', () => {
    const stream = encoder();
    stream.push({ ...start, extensions: { openai: { tier: 'auto', region: 'eu' } } }, 0);
    const last = stream.push({ ...finish, extensions: { openai: { body: { tier: 'default' } } } }, 0);
    expect(chunksOf(last)).toMatchObject([{ id: 'chatcmpl-g1', tier: 'default', region: 'eu' }]);
    expect(last.match(/"tier"/g)).toHaveLength(1);
  });

  test('an error is the last word: no finish reason, no end marker, no keep-alive', () => {
    const stream = encoder();
    stream.push(start, 0);
    const last = stream.push({ type: 'error', error: { kind: 'internal', message: 'internal error' } }, 0);
    expect(chunksOf(last)).toEqual([
      { error: { message: 'internal error', type: 'server_error', param: null, code: null } },
    ]);
    expect(last).not.toContain('[DONE]');
    expect(stream.push(text('x'), 0) + stream.push(finish, 0) + stream.keepAlive()).toBe('');
  });

  test('a bare error needs no start', () => {
    const last = encoder().push({ type: 'error', error: { kind: 'saturated', message: 'full' } }, 0);
    expect(chunksOf(last)).toMatchObject([{ error: { code: 'server_saturated' } }]);
  });

  test('a keep-alive is a comment, even before the first event', () => {
    expect(encoder().keepAlive()).toMatch(/^: .*\n\n$/);
  });

  test('the usage is reported only if it was asked for, and the end marker follows every choice', () => {
    const plain = encoder();
    plain.push(start, 0);
    const last = plain.push(finish, 0);
    expect(last).not.toContain('usage');
    expect(last.endsWith('data: [DONE]\n\n')).toBe(true);

    const two = encoder({ choices: 2, wire: { includeUsage: true } });
    two.push(start, 0);
    expect(two.push(finish, 0)).not.toContain('[DONE]');
    two.push({ ...start, id: 'g2' }, 1);
    const end = two.push(finish, 1);
    expect(chunksOf(end).at(-1)).toMatchObject({
      id: 'chatcmpl-g1',
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 },
    });
    expect(end.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test('an event after the finish of its choice says nothing', () => {
    const stream = encoder({ choices: 2 });
    stream.push(start, 0);
    stream.push(finish, 0);
    expect(stream.push(text('late'), 0)).toBe('');
  });

  test.each([
    ['none', [], '{}'],
    ['an empty text', [''], '{}'],
    ['blanks', [' ', '\n'], '{}'],
    ['blanks and an object', [' ', '{ "n"', ': 1 }', ' '], '{ "n": 1 } '],
  ])('a call whose arguments are %s shows an object', (_what, pieces, shown) => {
    const stream = encoder();
    const said = [
      stream.push(start, 0),
      stream.push({ type: 'tool-call-start', block: 0, id: 'a', name: 'f' }, 0),
      ...pieces.map((text) => stream.push({ type: 'tool-call-delta', block: 0, arguments: text }, 0)),
      stream.push({ type: 'tool-call-end', block: 0 }, 0),
    ];
    const chunks = said.filter((text) => text !== '').map((text) => JSON.parse(text.slice('data: '.length)));
    const calls = chunks.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    expect(calls.map((call) => call.function.arguments).join('')).toBe(shown);
  });

  test('opaques of other dialects are not shown', () => {
    const stream = encoder();
    stream.push(start, 0);
    expect(stream.push({ type: 'opaque', format: 'anthropic', block: 0, value: {} }, 0)).toBe('');
  });

  test('a client of the deprecated form sees one call', () => {
    const stream = encoder({ wire: { legacyFunctions: true } });
    const events: GenerationEvent[] = [start];
    for (const block of [0, 1]) {
      events.push({ type: 'tool-call-start', block, id: `c${block}`, name: `f${block}` });
      events.push({ type: 'tool-call-delta', block, arguments: `{"n":${block}}` });
      events.push({ type: 'tool-call-end', block });
    }
    const said = events.map((event) => stream.push(event, 0)).join('');
    expect(said).toContain('"function_call":{"name":"f0"');
    expect(said).not.toContain('f1');
    expect(said).not.toContain('\\"n\\":1');
  });
});

function decode(...chunks: Json[]): GenerationEvent[] {
  const decoder = new ChatStreamDecoder(context);
  const events = chunks.flatMap((chunk) => decoder.push({ data: JSON.stringify(chunk) }));
  return [...events, ...decoder.end()];
}

const chunk = (delta: Json, finish_reason: string | null = null, more = {}): Json => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
});

test('a field that comes after the beginning of a call reaches the client in the same call', () => {
  const decoder = new ChatStreamDecoder(context);
  const stream = encoder();
  const deltas = [
    { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
    { extra_content: { google: { thought_signature: 's' } } },
  ].map((call) => ({ tool_calls: [{ index: 0, ...call }] }));
  const messages = [
    ...deltas.map((delta) => ({ choices: [{ delta }] })),
    { choices: [{ finish_reason: 'tool_calls' }] },
  ];
  const events = messages.flatMap((message) => decoder.push({ data: JSON.stringify(message) }));
  const written = [...events, ...decoder.end()].map((event) => stream.push(event, 0)).join('');
  const said = chunksOf(written).filter((chunk) => JSON.stringify(chunk).includes('extra_content'));
  expect(said).toMatchObject([{ choices: [{ delta: deltas[1] }] }]);
});

describe('ChatStreamDecoder', () => {
  test.each([
    ['not JSON', '<html>'],
    ['a number', '7'],
    ['an empty answer', '[DONE]'],
  ])('%s is an upstream failure', (_name, data) => {
    expect(new ChatStreamDecoder(context).push({ data })).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed' } },
    ]);
  });

  test('an empty message and messages after the end are ignored', () => {
    const decoder = new ChatStreamDecoder(context);
    expect(decoder.push({ data: '' })).toEqual([]);
    decoder.push({ data: 'oops' });
    expect(decoder.push({ data: JSON.stringify(chunk({ content: 'x' })) })).toEqual([]);
    expect(decoder.end()).toEqual([]);
  });

  test('an end marker without a reason is a natural end', () => {
    const decoder = new ChatStreamDecoder(context);
    decoder.push({ data: JSON.stringify(chunk({ content: 'x' })) });
    expect(decoder.push({ data: ' [DONE] ' })).toEqual([{ type: 'finish', reason: 'stop', usage: {} }]);
  });

  test('an end marker without a reason inside of a call, or of thinking, is none', () => {
    const piece = (index: number, text: string) =>
      chunk({ tool_calls: [{ index, id: `call_${index}`, function: { name: 'rm', arguments: text } }] });
    const ended = (...chunks: Json[]) => {
      const decoder = new ChatStreamDecoder(context);
      for (const each of chunks) decoder.push({ data: JSON.stringify(each) });
      return decoder.push({ data: '[DONE]' }).at(-1);
    };
    const broken = { type: 'error', error: { kind: 'upstream-failed' } };
    expect(ended(piece(0, '{"path":"/home/us'))).toMatchObject(broken);
    expect(ended(chunk({ reasoning_content: 'so' }))).toMatchObject(broken);
    expect(ended(chunk({ reasoning_content: 'so' }), chunk({ content: 'x' }))).toMatchObject({
      type: 'finish',
    });
    expect(ended(piece(0, '{"path":"/a"}'), piece(1, '{"path":"/b'))).toMatchObject(broken);
    expect(ended(piece(0, '{"path":'), piece(0, '"/a"}'), piece(1, ''))).toMatchObject({
      type: 'finish',
      reason: 'tool-calls',
    });
  });

  test('an answer that the server broke off is an error that keeps the usage', () => {
    const events = decode(chunk({ content: 'x' }), {
      ...(chunk({}, 'abort') as object),
      usage: { completion_tokens: 1 },
    });
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed' },
      usage: { outputTokens: 1 },
    });
  });

  test('reports tool calls as the reason if there are some, and only then', () => {
    const calls = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] };
    expect(decode(chunk(calls, 'stop')).at(-1)).toMatchObject({ reason: 'tool-calls' });
    expect(decode(chunk({ content: 'x' }, 'tool_calls')).at(-1)).toMatchObject({ reason: 'stop' });
  });

  test('the first call is passed on while it comes, and the next one waits', () => {
    const decoder = new ChatStreamDecoder(context);
    const push = (index: number, args: string, name?: string) =>
      decoder
        .push({
          data: JSON.stringify(
            chunk({ tool_calls: [{ index, function: { name: name ?? null, arguments: args } }] }),
          ),
        })
        .map(({ type }) => type);
    expect(push(0, '', 'f')).toEqual(['start']);
    expect(push(0, '{"a"')).toEqual(['tool-call-start', 'tool-call-delta']);
    expect(push(0, ':1}')).toEqual(['tool-call-delta']);
    expect(push(1, '{}', 'g')).toEqual([]);
  });

  test('log probabilities of tokens without text are kept', () => {
    const chance = { token: '{', logprob: -1 };
    const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] };
    const events = decode(chunk(call, null, { logprobs: { content: [chance] } }), chunk({}, 'tool_calls'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ extensions: { openai: { logprobs: [chance] } } });
  });

  test('lists of parts are read as text and thinking', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'Hi' },
    ];
    expect(collect(decode(chunk({ content }, 'stop'))).content).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Hi' },
    ]);
  });

  test('unknown parts of a delta pass by as they came and are merged for the single body', () => {
    const events = decode(
      chunk({ audio: { id: 'a', data: 'AA' } }),
      chunk({ audio: { data: 'BB' } }),
      chunk({}, 'stop'),
    );
    expect(events.filter(({ type }) => type === 'opaque')).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({
      extensions: { openai: { message: { audio: { id: 'a', data: 'AABB' } } } },
    });
  });

  test('sound and pictures are content, and other unknown parts are not', () => {
    const own = (delta: JsonObject) => decode(chunk(delta)).filter(({ type }) => type === 'opaque');
    expect(own({ audio: { data: 'AA' } }).map(isContent)).toEqual([true]);
    expect(own({ audio_content: 'AA' }).map(isContent)).toEqual([true]);
    expect(own({ images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }).map(isContent)).toEqual([
      true,
    ]);
    expect(own({ mood: 'good', audio: { data: '' } }).map(isContent)).toEqual([false]);
  });

  test('unknown parts of a delta that say nothing pass by with the first one that says something', () => {
    const nothing = { annotations: [], details: { text: '' } };
    const own = { type: 'opaque', format: 'openai', value: { delta: nothing } };
    const types = (events: GenerationEvent[]) => events.map(({ type }) => type);
    const decoder = new ChatStreamDecoder(context);
    expect(types(decoder.push({ data: JSON.stringify(chunk(nothing)) }))).toEqual(['start']);
    expect(decoder.push({ data: JSON.stringify(chunk({ more: [] })) })).toEqual([]);
    const third = decoder.push({ data: JSON.stringify(chunk({ content: 'Hi', others: [] })) });
    expect(types(third)).toEqual(['opaque', 'text-delta', 'opaque']);
    expect(third[0]).toEqual({ ...own, value: { delta: { ...nothing, more: [] } } });
    expect(types(decoder.push({ data: JSON.stringify(chunk({ last: [] })) }))).toEqual(['opaque']);
    expect(types(decode(chunk(nothing), chunk({}, 'stop')))).toEqual(['start', 'opaque', 'finish']);
    expect(types(decode(chunk(nothing), { error: { message: 'full' } }))).toEqual(['start', 'error']);
  });

  test('a custom call that comes in pieces becomes one block', () => {
    const piece = (input: string, more = {}) =>
      chunk({ tool_calls: [{ index: 0, ...more, custom: { input } }] });
    const events = decode(
      chunk({ tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'sh', input: '' } }] }),
      piece('ls '),
      piece('-l'),
      chunk({}, 'tool_calls'),
    );
    expect(collect(events).content).toEqual([
      {
        type: 'opaque',
        format: 'openai',
        value: { id: 'c', type: 'custom', custom: { name: 'sh', input: 'ls -l' } },
      },
    ]);
  });
});

test('reasoning that a server counts beside the completion is included', () => {
  const [, finished] = decodeResponse(
    {
      choices: [{ message: { content: '' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 2,
        total_tokens: 17,
        completion_tokens_details: { reasoning_tokens: 10 },
      },
    },
    context,
  );
  expect(finished).toMatchObject({ usage: { inputTokens: 5, outputTokens: 12, reasoningTokens: 10 } });
});

test('a single body that is no object is an upstream failure', () => {
  expect(decodeResponse('<html>', context)).toMatchObject([
    { type: 'error', error: { kind: 'upstream-failed' } },
  ]);
});
