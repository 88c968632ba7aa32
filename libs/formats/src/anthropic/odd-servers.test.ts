import {
  collect,
  findGrammarError,
  type GenerationEvent,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { deepestArguments } from '../calls/argument-depth.ts';
import { decodeResponse } from './answer/response.ts';
import { decodeStop, encodeStop } from './answer/stop-reason.ts';
import { AnthropicStreamDecoder } from './answer/stream-decode.ts';
import { decodeError, decodeErrorBody } from './error.ts';
import { signThinking } from './thinking/signature.ts';

const context = { id: 'g1', createdAt: 0, model: 'm' };
const begin = { type: 'message_start', message: {} };
const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }];

const open = (index: number, content_block: Json) => ({ type: 'content_block_start', index, content_block });
const push = (index: number, delta: Json) => ({ type: 'content_block_delta', index, delta });
const close = (index: number) => ({ type: 'content_block_stop', index });
const text = (text: Json) => ({ type: 'text_delta', text });
const json = (partial_json: Json) => ({ type: 'input_json_delta', partial_json });

function decode(...data: (Json | string)[]): GenerationEvent[] {
  const decoder = new AnthropicStreamDecoder(context);
  const events = data.flatMap((one) =>
    decoder.push({ data: typeof one === 'string' ? one : JSON.stringify(one) }),
  );
  const all = [...events, ...decoder.end()];
  expect(findGrammarError(all)).toBeUndefined();
  return all;
}

const answerOf = (...data: (Json | string)[]) => collect(decode(begin, ...data, ...end));
const contentOf = (...data: (Json | string)[]) => answerOf(...data).content;

describe('a delta', () => {
  test('that does not belong to its block, or is empty, or has an odd shape, says nothing', () => {
    expect(
      contentOf(
        open(0, { type: 'text', text: '' }),
        push(0, { type: 'thinking_delta', thinking: '' }),
        push(0, json('x')),
        push(0, text(7)),
        push(0, text('')),
        push(0, { type: 'citations_delta' }),
        push(0, text('a')),
        push(3, json('x')),
        push(3, text('')),
        push(0, 7),
        close(0),
        open(1, { type: 'thinking', thinking: 'b', signature: '' }),
        push(1, text('')),
        push(1, { type: 'thinking_delta', thinking: 'c' }),
        close(1),
        open(2, { type: 'tool_use', id: 't', name: 'f', input: {} }),
        push(2, text('x')),
        push(2, json('')),
        push(2, json(7)),
        push(2, json('{"a":1}')),
        close(2),
        close(2),
      ).filter(({ type }) => type !== 'opaque'),
    ).toEqual([
      { type: 'text', text: 'a' },
      { type: 'reasoning', text: 'bc' },
      { type: 'tool-call', id: 't', name: 'f', arguments: '{"a":1}' },
    ]);
  });

  test('with words of a block that was never started starts it', () => {
    expect(contentOf(push(0, text('a')), push(0, text('b')))).toEqual([{ type: 'text', text: 'ab' }]);
    expect(
      contentOf(
        push(0, { type: 'thinking_delta', thinking: 'a' }),
        close(0),
        open(1, { type: 'text', text: 'b' }),
        push(2, text('d')),
        push(1, text('c')),
        push(2, text('e')),
        close(1),
        push(1, text('f')),
      ),
    ).toEqual([
      { type: 'reasoning', text: 'a' },
      { type: 'text', text: 'bc' },
      { type: 'text', text: 'de' },
      { type: 'text', text: 'f' },
    ]);
  });

  test('of text among thoughts, or of a thought in a text, begins a block of its own', () => {
    const think = (thinking: string) => ({ type: 'thinking_delta', thinking });
    const signed = { type: 'signature_delta', signature: 's' };
    expect(
      contentOf(
        open(0, { type: 'text', text: '' }),
        push(0, think('a')),
        push(0, think('b')),
        push(0, text('c')),
        push(0, think('d')),
        push(0, text('e')),
        push(0, text('f')),
        close(0),
        open(1, { type: 'thinking', thinking: 'g', signature: '' }),
        push(1, signed),
        push(1, text('h')),
        close(1),
        open(2, { type: 'text', text: 'i' }),
        close(2),
      ),
    ).toEqual([
      { type: 'reasoning', text: 'ab' },
      { type: 'text', text: 'c' },
      { type: 'reasoning', text: 'd' },
      { type: 'text', text: 'ef' },
      { type: 'reasoning', text: 'g', extensions: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'h' },
      { type: 'text', text: 'i' },
    ]);
  });

  test('of text is read however a server spaces and pads it, and only if it is JSON', () => {
    const head = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"';
    const block = open(0, { type: 'text', text: '' });
    for (const tail of [
      'a"}}',
      'a"}}   ',
      'a"}  }',
      'a"} } ',
      '\\u0061"}}',
      'a","odd":{}}}',
      'a"},"odd":1}',
    ]) {
      expect(contentOf(block, head + tail, close(0))).toEqual([{ type: 'text', text: 'a' }]);
    }
    for (const tail of ['a"}}x', 'a"}', 'a', 'a"x}}', 'a"}}}', 'a"x}', 'a" }x', 'x}}']) {
      expect(decode(begin, block, head + tail).at(-1)).toMatchObject({
        error: { message: 'the upstream sent a message that is not JSON' },
      });
    }
    expect(contentOf(block, `${head}"}}`, `${head}a"}}`, close(0))).toEqual([{ type: 'text', text: 'a' }]);
  });

  test('of an unknown kind passes by with its block', () => {
    const odd = { type: 'odd_delta', x: 1 };
    expect(
      decode(begin, open(4, { type: 'text', text: 'a' }), push(4, odd), close(4), ...end),
    ).toContainEqual({
      type: 'opaque',
      format: 'anthropic',
      value: { type: 'content_block_delta', index: 4, delta: odd },
    });
  });
});

describe('a block', () => {
  test('of an unknown type is collected: texts are appended, other fields replaced, input parsed', () => {
    const gathered = (block: JsonObject, ...deltas: Json[]) => {
      const [part] = contentOf(open(0, block), ...deltas.map((delta) => push(0, delta)), close(0));
      return part?.type === 'opaque' ? part.value : part;
    };
    expect(
      gathered({ type: 'odd', note: 'a', count: 1 }, { type: 'odd_delta', note: 'b', count: 2, more: [1] }),
    ).toEqual({ type: 'odd', note: 'ab', count: 2, more: [1] });
    expect(gathered({ type: 'odd', note: 'a' }, { type: 'x', note: 7 }, { type: 'x', note: 'b' })).toEqual({
      type: 'odd',
      note: 'b',
    });
    expect(gathered({ type: 'server_tool_use', input: {} }, json('{"q"'), json(7), json(':1}'))).toEqual({
      type: 'server_tool_use',
      input: { q: 1 },
    });
    expect(gathered({ type: 'server_tool_use', input: {} }, json('{"q"'))).toEqual({
      type: 'server_tool_use',
      input: '{"q"',
    });
    expect(gathered({ type: 'server_tool_use', input: { q: 1 } })).toEqual({
      type: 'server_tool_use',
      input: { q: 1 },
    });
  });

  test('of an unknown type keeps its input as text if it is nested too deep to be passed on', () => {
    const inputOf = (text: string) => {
      const block = { type: 'mcp_tool_use', input: {} };
      const deltas = [json(text.slice(0, 9)), json(text.slice(9))].map((delta) => push(0, delta));
      const [part] = contentOf(open(0, block), ...deltas, close(0));
      return part?.type === 'opaque' && isJsonObject(part.value) ? part.value.input : part;
    };
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(inputOf(nested(deepestArguments))).toEqual(JSON.parse(nested(deepestArguments)));
    for (const levels of [deepestArguments + 1, 6000]) expect(inputOf(nested(levels))).toBe(nested(levels));
  });

  test('of a call without an id or a name is kept as it is', () => {
    for (const block of [
      { type: 'tool_use', name: 'f', input: {} },
      { type: 'tool_use', id: 't', input: {} },
      { type: 'tool', id: 't', name: 'f' },
    ]) {
      expect(contentOf(open(0, block), close(0))).toEqual([
        { type: 'opaque', format: 'anthropic', value: block },
      ]);
    }
  });

  test('of a call takes its arguments from its start if no delta brings them', () => {
    const call = (input: Json, ...deltas: Json[]) => {
      const block = { type: 'tool_use', id: 't', name: 'f', input, caller: { type: 'direct' }, odd: 1 };
      return contentOf(open(0, block), ...deltas.map((delta) => push(0, delta)), close(0))[0];
    };
    const extensions = { anthropic: { odd: 1 } };
    const called = { type: 'tool-call', id: 't', name: 'f', extensions };
    expect(call({ a: 1 })).toEqual({ ...called, arguments: '{"a":1}' });
    expect(call(null)).toMatchObject({ ...called, arguments: expect.stringMatching(/^(?:\{\})?$/) });
    expect(call({ a: 1 }, json('{"b":2}'))).toEqual({ ...called, arguments: '{"b":2}' });
  });

  test.each([
    ['', '{}'],
    [' ', '{}'],
    ['{"a":1}', '{"a":1}'],
    ['{"a":"cut o', '{"a":"cut o'],
  ])('of a call may have its input as text: %j', (input, text) => {
    const block = { type: 'tool_use', id: 't', name: 'f', input };
    const called = { type: 'tool-call', id: 't', name: 'f', arguments: text };
    expect(contentOf(open(0, block), close(0))).toEqual([called]);
    const whole = collect(decodeResponse({ content: [block], stop_reason: 'tool_use' }, context));
    expect(whole.content).toEqual([called]);
    expect(whole.finish.reason).toBe('tool-calls');
  });

  test('of thinking keeps a signature that is not ours, and the last of several', () => {
    const signed = (signature: Json, ...deltas: Json[]) =>
      contentOf(
        open(0, { type: 'thinking', thinking: 'a', signature }),
        ...deltas.map((delta) => push(0, { type: 'signature_delta', signature: delta })),
        close(0),
      )[0];
    const kept = (signature: string) => ({
      type: 'reasoning',
      text: 'a',
      extensions: { anthropic: { signature } },
    });
    expect(signed('x')).toEqual(kept('x'));
    expect(signed('x', 'y', '', 7)).toEqual(kept('y'));
    expect(signed('', signThinking(1))).toEqual({ type: 'reasoning', text: 'a' });
    expect(signed(7)).toEqual({ type: 'reasoning', text: 'a' });
  });

  test('of text keeps its citations and other fields, even without a text', () => {
    const cited = { type: 'text', text: 'a', citations: [{ c: 1 }], odd: 1 };
    const extensions = { anthropic: { odd: 1, citations: [{ c: 1 }, { c: 2 }] } };
    const more = push(0, { type: 'citations_delta', citation: { c: 2 } });
    expect(contentOf(open(0, cited), more, close(0))).toEqual([{ type: 'text', text: 'a', extensions }]);
    expect(contentOf(open(0, { ...cited, text: '' }), more, close(0))).toEqual([
      { type: 'text', text: '', extensions },
    ]);
    expect(contentOf(open(0, { type: 'text', text: 'a', citations: [] }), close(0))).toEqual([
      { type: 'text', text: 'a' },
    ]);
  });

  test('that runs beside another waits for it, with everything that belongs to it', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    expect(
      contentOf(
        open(0, call('a')),
        open(1, call('b')),
        open(2, call('c')),
        push(1, json('{"b"')),
        push(2, json('{"c":1}')),
        push(0, json('{"a":1}')),
        close(2),
        push(2, json('x')),
        close(7),
        push(1, json(':1}')),
        close(0),
        close(1),
      ),
    ).toMatchObject([
      { id: 'a', arguments: '{"a":1}' },
      { id: 'b', arguments: '{"b":1}' },
      { id: 'c', arguments: '{"c":1}' },
    ]);
  });

  test.each([
    ['text', 'tool_use', { type: 'text', text: 'Done.' }, 'stop'],
    ['a call', 'end_turn', { type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } }, 'tool-calls'],
  ])('of %s ends an answer as such, although the server says %s', (_, stop_reason, block, reason) => {
    const decoder = new AnthropicStreamDecoder(context);
    const last = { type: 'message_delta', delta: { stop_reason } };
    const stream = [begin, open(0, block), close(0), last, { type: 'message_stop' }];
    const events = stream.flatMap((one) => decoder.push({ data: JSON.stringify(one) }));
    for (const heard of [events, decodeResponse({ content: [block], stop_reason }, context)]) {
      expect(collect(heard).finish.reason).toBe(reason);
    }
  });

  test('of a second call is left out if the client accepts only one', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const say = { type: 'text', text: 'Done.' };
    const single = { ...context, isSingleCall: true };
    const decoder = new AnthropicStreamDecoder(single);
    const stream = [
      begin,
      open(0, call('a')),
      open(1, call('b')),
      push(1, json('{"b":1}')),
      push(0, json('{"a":1}')),
      close(1),
      close(0),
      open(2, call('c')),
      push(2, json('{"c":1}')),
      close(2),
      open(3, say),
      close(3),
      ...end,
    ];
    const events = [
      ...stream.flatMap((one) => decoder.push({ data: JSON.stringify(one) })),
      ...decoder.end(),
    ];
    const body = { content: [{ ...call('a'), input: { a: 1 } }, call('b'), say], stop_reason: 'end_turn' };
    for (const heard of [events, decodeResponse(body, single)]) {
      expect(findGrammarError(heard)).toBeUndefined();
      expect(collect(heard).content).toEqual([
        { type: 'tool-call', id: 'a', name: 'f', arguments: '{"a":1}' },
        { type: 'text', text: 'Done.' },
      ]);
    }
  });

  test('that reuses a number is another block', () => {
    expect(
      contentOf(
        open(0, { type: 'text', text: 'a' }),
        open(1, { type: 'text', text: 'b' }),
        close(1),
        open(1, { type: 'text', text: 'c' }),
        push(1, text('d')),
        close(0),
      ),
    ).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'text', text: 'cd' },
    ]);
  });

  test('without content leaves no gap in the numbers', () => {
    const events = decode(
      begin,
      open(0, { type: 'text', text: '' }),
      close(0),
      open(1, { type: 'text', text: 'a' }),
      ...end,
    );
    expect(events).toContainEqual({ type: 'text-delta', block: 0, text: 'a' });
  });
});

describe('a stream', () => {
  test('may leave numbers out, begin without a start, and start twice', () => {
    const late = { type: 'message_start', message: { usage: { input_tokens: 9 } } };
    const answer = collect(
      decode(
        { type: 'content_block_start', content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', delta: text('a') },
        late,
        { type: 'content_block_stop' },
        { type: 'ping' },
        '[DONE]',
        ...end,
      ),
    );
    expect(answer.content).toEqual([{ type: 'text', text: 'a' }]);
    expect(answer.finish.usage).toEqual({});
  });

  test('passes unknown events on once it has begun', () => {
    const odd = { type: 'odd', x: 1 };
    expect(decode(odd, begin, odd, ...end).filter(({ type }) => type === 'opaque')).toEqual([
      { type: 'opaque', format: 'anthropic', value: odd },
    ]);
  });

  test('is complete once its reason is known, and nothing follows its end', () => {
    const [reason] = end;
    expect(decode(begin, reason ?? {}).at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(decode(begin, ...end, ...end, open(0, { type: 'text', text: 'a' }))).toHaveLength(2);
    expect(decode(begin, { type: 'message_stop' }).at(-1)).toMatchObject({ type: 'finish', reason: 'other' });
    expect(decode(begin, { type: 'message_delta', delta: { stop_reason: null } }).at(-1)).toEqual({
      type: 'error',
      error: {
        kind: 'upstream-failed',
        message: 'the upstream closed the stream before the answer was complete',
      },
    });
  });

  test('is not complete if it stops inside of a block without a reason', () => {
    const stop = { type: 'message_stop' };
    const half = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"a":' },
    };
    const called = open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} });
    for (const said of [[open(0, { type: 'text', text: 'half' })], [called, half]])
      expect(decode(begin, ...said, stop).at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'upstream-failed' },
      });
    expect(decode(begin, called, half, ...end).at(-1)).toMatchObject({ type: 'finish' });
    expect(decode(stop)).toMatchObject([{ type: 'error', error: { kind: 'upstream-failed' } }]);
  });

  test('that fails keeps the usage that was reported; later counts replace earlier ones', () => {
    const started = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } };
    const told = { type: 'message_delta', delta: {}, usage: { output_tokens: 5, input_tokens: null } };
    expect(decode(started, told, { type: 'error', error: { type: 'overloaded_error' } }).at(-1)).toEqual({
      type: 'error',
      error: {
        kind: 'unavailable',
        message: 'the upstream reported an error without a message',
        detail: 'overloaded',
      },
      usage: { inputTokens: 3, outputTokens: 5 },
    });
    expect(decode(begin, '7').at(-1)).toEqual({
      type: 'error',
      error: { kind: 'upstream-failed', message: 'the upstream sent a message that is not JSON' },
    });
  });
});

test('an output count that is only in the start is not the answer’s', () => {
  const started = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } };
  const said = [started, open(0, { type: 'text', text: 'a long answer' })];
  expect(collect(decode(...said, ...end)).finish.usage).toEqual({ inputTokens: 3 });
  const [reason, stop] = end;
  const counted = { ...reason, usage: { output_tokens: 4 } };
  expect(collect(decode(...said, counted, stop ?? {})).finish.usage).toEqual({
    inputTokens: 3,
    outputTokens: 4,
  });
});

test('an error may come from a router: without an event type, and with a status as its code', () => {
  const said = { error: { message: 'litellm.RateLimitError: slow down', type: 'None', code: '429' } };
  const error = { kind: 'rate-limited', message: 'litellm.RateLimitError: slow down' };
  expect(decode(said)).toEqual([{ type: 'error', error }]);
  // What some servers send after it does not make the answer complete.
  const half = decode(begin, open(0, { type: 'text', text: 'half' }), said, { type: 'message_stop' });
  expect(half.at(-1)).toEqual({ type: 'error', error });
  expect(decodeResponse(said, context)).toEqual([{ type: 'error', error }]);
});

test('an error may be a mere text, in a stream and in a body', () => {
  const error = { kind: 'upstream-failed', message: 'no worker is left' };
  const said = { error: 'no worker is left' };
  const half = decode(begin, open(0, { type: 'text', text: 'half' }), said, { type: 'message_stop' });
  expect(half.at(-1)).toEqual({ type: 'error', error });
  expect(decodeResponse(said, context)).toEqual([{ type: 'error', error }]);
  expect(decode(begin, { type: 'ping', error: '' }, ...end).at(-1)).toMatchObject({ type: 'finish' });
});

test('a prompt of 0 tokens is one that nobody counted, and so is the answer to it', () => {
  const usage = (input_tokens: number, output_tokens: number, more = {}) => ({
    usage: { input_tokens, output_tokens, ...more },
  });
  const told = (start: JsonObject, ending: JsonObject) => {
    const events = decode({ type: 'message_start', message: start }, open(0, { type: 'text', text: 'a' }), {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      ...ending,
    });
    const [first, last] = [events[0], events.at(-1)];
    return [first?.type === 'start' && first.inputTokens, last?.type === 'finish' && last.usage];
  };
  expect(told(usage(0, 0), usage(7, 2))).toEqual([undefined, { inputTokens: 7, outputTokens: 2 }]);
  expect(told(usage(0, 0), usage(0, 2))).toEqual([undefined, { outputTokens: 2 }]);
  expect(told(usage(0, 0), usage(0, 0))).toEqual([undefined, {}]);
  expect(told(usage(7, 0), usage(7, 0))).toEqual([7, { inputTokens: 7, outputTokens: 0 }]);
  // All of it came from the cache.
  const cached = usage(0, 0, { cache_read_input_tokens: 9 });
  expect(told(cached, cached)).toEqual([9, { inputTokens: 9, outputTokens: 0, cacheReadTokens: 9 }]);
});

describe('the end', () => {
  const stop = (fields: JsonObject, hasCall = fields.stop_reason === 'tool_use') =>
    decodeStop(fields, hasCall);

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool-calls'],
    ['refusal', 'content-filter'],
    ['tomorrow', 'other'],
    ['toString', 'other'],
  ] as const)('%s is %s, and said as it was', (stop_reason, reason) => {
    const decoded = stop({ stop_reason });
    expect(decoded.reason).toBe(reason);
    expect(encodeStop({ type: 'finish', usage: {}, ...decoded }).stop_reason).toBe(stop_reason);
  });

  test.each([
    ['tool_use', false, 'stop'],
    ['end_turn', true, 'tool-calls'],
    ['max_tokens', true, 'length'],
    ['pause_turn', true, 'stop'],
  ] as const)(
    'said as %s, with a call: %s, is read as %s, and said as it was',
    (stop_reason, hasCall, reason) => {
      const decoded = stop({ stop_reason }, hasCall);
      expect(decoded.reason).toBe(reason);
      expect(encodeStop({ type: 'finish', usage: {}, ...decoded }).stop_reason).toBe(stop_reason);
    },
  );

  test('names the stop sequence only if one was hit', () => {
    expect(stop({ stop_reason: 'stop_sequence', stop_sequence: 'END' })).toStrictEqual({
      reason: 'stop',
      stopSequence: 'END',
    });
    expect(stop({ stop_reason: 'end_turn', stop_sequence: 'END' })).toStrictEqual({ reason: 'stop' });
    expect(stop({ stop_reason: 'stop_sequence', stop_sequence: null })).toStrictEqual({
      reason: 'stop',
      rawReason: 'stop_sequence',
    });
    expect(stop({ stop_reason: 7 })).toStrictEqual({ reason: 'other' });
    const said = encodeStop({ type: 'finish', reason: 'length', stopSequence: 'END', usage: {} });
    expect([said.stop_reason, said.stop_sequence]).toEqual(['max_tokens', null]);
    expect(encodeStop({ type: 'finish', reason: 'stop', rawReason: 'tool_use', usage: {} }).stop_reason).toBe(
      'end_turn',
    );
  });

  test('explains a refusal if the server does, and otherwise says that there is nothing to explain', () => {
    const details = { type: 'refusal', category: 'bio', explanation: null };
    expect(stop({ stop_reason: 'refusal', stop_details: details }).extensions).toEqual({
      anthropic: { stop_details: details },
    });
    const bare = { type: 'refusal', category: null, explanation: null };
    expect(stop({ stop_reason: 'refusal', stop_details: bare })).toStrictEqual({ reason: 'content-filter' });
    expect(encodeStop({ type: 'finish', reason: 'content-filter', usage: {} })).toStrictEqual({
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: bare,
    });
    expect(encodeStop({ type: 'finish', reason: 'stop', usage: {} }).stop_details).toBeNull();
  });
});

test('a single body is read block by block, and one that is no message is a failure', () => {
  const body = {
    content: [7, { type: 'text', text: '' }, { type: 'text', text: 7 }, { type: 'text', text: 'a' }],
    stop_reason: 'end_turn',
    context_management: { applied_edits: [] },
  };
  const answer = collect(decodeResponse(body, context));
  expect(answer.content).toEqual([
    { type: 'opaque', format: 'anthropic', value: { type: 'text', text: 7 } },
    { type: 'text', text: 'a' },
  ]);
  expect(answer.finish).toStrictEqual({ type: 'finish', reason: 'stop', usage: {} });
  expect(answer.extensions).toBeUndefined();
  for (const none of [7, null, {}, { content: 'a' }]) {
    expect(decodeResponse(none, context)).toEqual([
      {
        type: 'error',
        error: { kind: 'upstream-failed', message: 'the upstream sent a message that is not an answer' },
      },
    ]);
  }
});

describe('an error', () => {
  test.each([
    ['invalid_request_error', 'invalid-request'],
    ['authentication_error', 'unauthenticated'],
    ['billing_error', 'budget-exhausted'],
    ['permission_error', 'permission-denied'],
    ['not_found_error', 'not-found'],
    ['request_too_large', 'too-large'],
    ['rate_limit_error', 'rate-limited'],
    ['timeout_error', 'deadline-exceeded'],
    ['overloaded_error', 'unavailable', 'overloaded'],
    ['api_error', 'saturated'],
    ['toString', 'saturated'],
    [7, 'saturated'],
  ])('of type %s is %s', (type, kind, detail?: string) => {
    expect(decodeErrorBody({ error: { type, message: '' } }, 'saturated', 'silence')).toEqual({
      kind,
      message: 'silence',
      ...(detail && { detail }),
    });
  });

  test('of our own empty account is no mistake of the client', () => {
    const message = 'Your credit balance is too low to access the Anthropic API.';
    const error = { type: 'invalid_request_error', message };
    expect(decodeError(400, {}, { type: 'error', error })).toEqual({ kind: 'budget-exhausted', message });
    expect(decodeError(529, {}, { error: { message } }).kind).toBe('unavailable');
    const zhipu = '[1113][Insufficient balance or no resource package. Please recharge.][2026]';
    const limited = { type: 'rate_limit_error', code: '1113', message: zhipu };
    expect(decodeError(429, {}, { type: 'error', error: limited }).kind).toBe('budget-exhausted');
  });

  test('gets its detail from its words, for its own kind only', () => {
    const detailOf = (status: number, message: string) =>
      decodeError(status, {}, { error: { message } }).detail;
    for (const words of ['Prompt is too long', 'would exceed context limit', 'maximum context length']) {
      expect(detailOf(400, words)).toBe('context-length-exceeded');
      expect(detailOf(429, words)).toBeUndefined();
    }
    expect(detailOf(404, 'Model: x')).toBe('model-not-found');
    expect(detailOf(404, 'file')).toBeUndefined();
    expect(detailOf(400, 'model')).toBeUndefined();
    expect(decodeError(418, {}, { code: 7 }).message).toBe('the server answered with status 418');
    expect(decodeError(400, {}, { error: { message: 'x'.repeat(501) } }).message).toHaveLength(500);
  });
});
