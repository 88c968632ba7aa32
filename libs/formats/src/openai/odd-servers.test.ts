import {
  collect,
  findGrammarError,
  type GenerationEvent,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { decodeResponse } from './answer/response.ts';
import { ChatStreamDecoder } from './answer/stream-decode.ts';
import { decodeError, decodeInBandError } from './error.ts';

const context = { id: 'g1', createdAt: 1000, model: 'm' };

function decode(...chunks: Json[]): GenerationEvent[] {
  const decoder = new ChatStreamDecoder(context);
  const events = chunks.flatMap((chunk) => decoder.push({ data: JSON.stringify(chunk) }));
  const all = [...events, ...decoder.end()];
  expect(findGrammarError(all)).toBeUndefined();
  return all;
}

const chunk = (delta: Json, finish_reason: Json = null, more = {}): Json => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
});
const contentOf = (...chunks: Json[]) => collect(decode(...chunks, chunk({}, 'stop'))).content;

describe('a delta', () => {
  test('may hold a refusal beside text, and empty texts that say nothing', () => {
    const refused = { type: 'text', text: 'no', extensions: { openai: { refusal: true } } };
    expect(contentOf(chunk({ content: 'well, ', refusal: 'no' }))).toEqual([
      { type: 'text', text: 'well, ' },
      refused,
    ]);
    expect(contentOf(chunk({ content: '', refusal: 'no', reasoning: '' }))).toEqual([refused]);
    expect(contentOf(chunk({ content: '', refusal: '', reasoning_content: '' }))).toEqual([]);
  });

  test('has its thinking under either name, but only once', () => {
    expect(contentOf(chunk({ reasoning_content: 'a', reasoning: 'b' }), chunk({ reasoning: 'c' }))).toEqual([
      { type: 'reasoning', text: 'ac' },
    ]);
    expect(contentOf(chunk({ reasoning_content: '', reasoning: 'b' }))).toEqual([
      { type: 'reasoning', text: 'b' },
    ]);
  });

  test('may be one of many pieces of a thought, which a single body puts together for its way back', () => {
    const piece = (more: JsonObject) => ({ type: 'reasoning.text', format: 'anthropic-claude-v1', ...more });
    const sealed = { type: 'reasoning.encrypted', data: 'x', index: 2 };
    const { finish } = collect(
      decode(
        chunk({ reasoning: 'a', reasoning_details: [piece({ text: 'a', index: 0 })] }),
        chunk({ reasoning: 'b', reasoning_details: [piece({ text: 'b', index: 0, signature: null })] }),
        chunk({ reasoning_details: [piece({ signature: 's', index: 0 })] }),
        chunk({ reasoning: 'c', reasoning_details: [piece({ text: 'c', index: 1 }), sealed] }),
        chunk({ content: 'd', reasoning_details: [sealed] }, 'stop'),
      ),
    );
    expect(finish.extensions?.openai?.message).toEqual({
      reasoning_details: [
        piece({ text: 'ab', index: 0, signature: 's' }),
        piece({ text: 'c', index: 1 }),
        sealed,
        sealed,
      ],
    });
  });

  test('may repeat what its message is called, which is said once and not put together', () => {
    const said = (delta: JsonObject) =>
      chunk({ ...delta, role: 'assistant', name: 'MiniMax AI', audio_content: '', is_final: false });
    const events = decode(...['a', 'b', 'c', 'd'].map((content) => said({ content })), chunk({}, 'stop'));
    const message = { name: 'MiniMax AI', audio_content: '', is_final: false };
    expect(events.filter(({ type }) => type === 'opaque')).toEqual([
      { type: 'opaque', format: 'openai', value: { delta: message } },
    ]);
    const { content, finish } = collect(events);
    expect(content).toEqual([{ type: 'text', text: 'abcd' }]);
    expect(finish.extensions?.openai?.message).toEqual(message);
  });

  test('may repeat that it holds no more thoughts, which is said once', () => {
    const nothing = { reasoning: null, reasoning_details: [] };
    const details = [{ type: 'reasoning.text', text: 'hm' }];
    const events = decode(
      chunk({ content: '', reasoning: 'hm', reasoning_details: details }),
      ...['a', 'b', 'c'].map((content) => chunk({ content, ...nothing })),
      chunk({ content: '', ...nothing }, 'stop'),
    );
    expect(events.filter(({ type }) => type === 'opaque')).toHaveLength(1);
    expect(collect(events).finish.extensions?.openai?.message).toEqual({ reasoning_details: details });
  });

  test('may go on with a text of an unknown name, even if it stutters', () => {
    const { finish } = collect(
      decode(...['', 'ha', 'ha', '', '!'].map((moan) => chunk({ moan })), chunk({ name: 'A' }, 'stop')),
    );
    expect(finish.extensions?.openai?.message).toEqual({ moan: 'haha!', name: 'A' });
  });

  test('of gpt-oss at Groq is of a channel, as the name of its field says, too', () => {
    const events = decode(
      ...['a', 'b', 'c'].map((reasoning) => chunk({ reasoning, channel: 'analysis' })),
      chunk({ content: 'd' }, 'stop'),
    );
    expect(events.map(({ type }) => type)).not.toContain('opaque');
    expect(collect(events).finish).not.toHaveProperty('extensions');
  });

  test('is not repeated by a whole message at the end, which gives the reason', () => {
    const message = { role: 'assistant', content: 'ab', reasoning_content: 'hm' };
    const events = decode(
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      {
        choices: [{ index: 0, message, finish_reason: 'length' }],
        usage: { prompt_tokens: 1, completion_tokens: 2 },
      },
    );
    expect(collect(events)).toMatchObject({
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'ab' },
      ],
      finish: { reason: 'length', usage: { inputTokens: 1, outputTokens: 2 } },
    });
    expect(contentOf({ choices: [{ message }] })).toHaveLength(2);
  });

  test('of odd shapes costs nothing but itself', () => {
    const odd = { content: 7, refusal: 7, reasoning: 7, tool_calls: 'x', function_call: 'x' };
    expect(contentOf(chunk({ content: 'a' }), chunk(odd), chunk(null), chunk('x'))).toEqual([
      { type: 'text', text: 'a' },
    ]);
    expect(contentOf(chunk({ content: 'a', tool_calls: [7, null] }))).toEqual([{ type: 'text', text: 'a' }]);
  });

  test('of another choice than the first is not read', () => {
    const other = { choices: [{ index: 1, delta: { content: 'b' } }, 7, { delta: { content: 'a' } }] };
    expect(contentOf(other)).toEqual([{ type: 'text', text: 'a' }]);
  });

  test('with a list of parts keeps the parts that are unknown here', () => {
    const known = { type: 'text', text: 'a' };
    const odd = [
      { type: 'text', text: 7 },
      { type: 'note', text: 'b' },
      { type: 'thinking', thinking: 'c' },
      { type: 'note', thinking: [{ text: 'd' }] },
    ];
    expect(contentOf(chunk({ content: [known, 'x', ...odd] }))).toEqual([
      known,
      ...odd.map((value) => ({ type: 'opaque', format: 'openai', value })),
    ]);
    const note = { type: 'note', text: 'b' };
    expect(contentOf(chunk({ content: [note, known] }))).toEqual([
      { type: 'opaque', format: 'openai', value: note },
      known,
    ]);
    expect(contentOf(chunk({ content: [{ type: 'thinking', thinking: [{ text: 'a' }, 7, {}] }] }))).toEqual([
      { type: 'reasoning', text: 'a' },
    ]);
  });

  test('may tell thoughts by a list of parts, the last of which only signs them', () => {
    const thought = (text: string, signature = '') => ({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text, signature }],
    });
    expect(
      contentOf(
        chunk({ content: [thought('h')] }),
        chunk({ content: [thought('m')] }),
        chunk({ content: [thought('', 'sig')] }),
        chunk({ content: 'Hi' }),
      ),
    ).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Hi' },
    ]);
  });

  test('with unknown fields merges them: text and lists are appended, objects merged, ids replaced', () => {
    const events = decode(
      chunk({ odd: { id: 'a', text: 'x', list: [1], count: 1, inner: { text: 'p' } } }),
      chunk({ odd: { id: 'b', text: 'y', list: [2], count: 2, inner: { text: 'q' } } }),
      chunk({}, 'stop'),
    );
    expect(events.at(-1)).toMatchObject({
      extensions: {
        openai: {
          message: { odd: { id: 'b', text: 'xy', list: [1, 2], count: 2, inner: { text: 'pq' } } },
        },
      },
    });
    // Each delta is emitted as it came.
    expect(events.find(({ type }) => type === 'opaque')).toMatchObject({
      value: { delta: { odd: { list: [1], inner: { text: 'p' } } } },
    });
  });

  test('with a list that each of many deltas extends is read fast', () => {
    const delta = { data: JSON.stringify(chunk({ token_ids: Array.from({ length: 10 }, () => 7) })) };
    const decoder = new ChatStreamDecoder(context);
    // 10,000 of them took 6 s.
    for (let times = 0; times < 120_000; times += 1) decoder.push(delta);
    decoder.push({ data: JSON.stringify(chunk({}, 'stop')) });
    const finish = decoder.end().at(-1);
    expect(finish?.type).toBe('finish');
  });
});

describe('log probabilities', () => {
  const chance = (token: string) => ({ token, logprob: -1 });
  const chances = (place: string, ...tokens: string[]) => ({ logprobs: { [place]: tokens.map(chance) } });

  test('without a text belong to the open text or refusal', () => {
    for (const [field, place] of [
      ['content', 'content'],
      ['refusal', 'refusal'],
    ] as const) {
      const answer = collect(
        decode(
          chunk({ [field]: 'a' }, null, chances(place, 'a')),
          chunk({}, null, chances(place, '')),
          chunk({}, 'stop'),
        ),
      );
      expect(answer.content).toHaveLength(1);
      expect(answer.logprobs).toEqual([chance('a'), chance('')]);
    }
  });

  test('before any text, in a call, and of thinking are kept apart from the text', () => {
    for (const delta of [{}, { reasoning: 'a' }]) {
      const answer = collect(
        decode(chunk(delta), chunk({}, null, chances('content', 'x')), chunk({}, 'stop')),
      );
      expect(answer.logprobs).toBeUndefined();
      expect(answer.finish.extensions).toEqual({ openai: { logprobs: [chance('x')] } });
    }
  });

  test('of text that follows a call stay with it', () => {
    const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] };
    const answer = collect(
      decode(
        chunk(call),
        chunk({ content: 'a' }, null, chances('content', 'a')),
        chunk({ content: 'b' }, null, chances('content', 'b')),
        chunk({ content: 'c' }),
        chunk({}, 'tool_calls'),
      ),
    );
    expect(answer.content.at(-1)).toEqual({ type: 'text', text: 'abc' });
    expect(answer.logprobs).toEqual([chance('a'), chance('b')]);
  });

  test('of odd shapes are none', () => {
    for (const logprobs of [7, null, { content: [] }, { content: 'x', refusal: 'x' }, {}]) {
      expect(collect(decode(chunk({ content: 'a' }, 'stop', { logprobs }))).logprobs).toBeUndefined();
    }
  });
});

describe('the end of an answer', () => {
  test('reports the stop sequence if the server does, and only for a stop', () => {
    const finishOf = (word: string, more: object) => decode(chunk({ content: 'a' }, word, more)).at(-1);
    expect(finishOf('stop', { stop_reason: 'END' })).toMatchObject({ stopSequence: 'END' });
    expect(finishOf('stop', { matched_stop: 'END' })).toMatchObject({ stopSequence: 'END' });
    expect(finishOf('stop', { stop_reason: 128_009 })).not.toHaveProperty('stopSequence');
    expect(finishOf('length', { stop_reason: 'END' })).not.toHaveProperty('stopSequence');
  });

  test('is not a reason that is no word', () => {
    const events = decode(chunk({ content: 'a' }, ''), chunk({}, 7));
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { message: 'the upstream closed the stream before the answer was complete' },
    });
    expect(events.at(-1)).not.toHaveProperty('usage');
  });

  test('keeps a reason that came before the last chunk', () => {
    expect(decode(chunk({ content: 'a' }, 'length'), chunk({}, '')).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'length',
    });
  });

  test('reports usage that is beside the reason, or beside all choices', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, cached_tokens: 4 };
    const told = { inputTokens: 9, outputTokens: 2, cacheReadTokens: 4 };
    expect(decode(chunk({ content: 'a' }), chunk({}, 'stop', { usage })).at(-1)).toMatchObject({
      usage: told,
    });
    const more = { choices: [], usage: { ...usage, completion_tokens: 3 } };
    expect(decode(chunk({ content: 'a' }), chunk({}, 'stop', { usage }), more).at(-1)).toMatchObject({
      usage: { ...told, outputTokens: 3 },
    });
  });

  test('of a refusal is a filter, of a call a call, unless the server says more', () => {
    const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] };
    expect(decode(chunk({ refusal: 'no' }, 'stop')).at(-1)).toMatchObject({ reason: 'content-filter' });
    expect(decode(chunk({ refusal: 'no' }, 'length')).at(-1)).toMatchObject({ reason: 'length' });
    expect(decode(chunk({ refusal: 'no', ...call }, 'stop')).at(-1)).toMatchObject({ reason: 'tool-calls' });
    expect(decode(chunk(call, 'length')).at(-1)).toMatchObject({ reason: 'length' });
  });
});

test('body fields that every chunk repeats are reported once, and those that change at the end', () => {
  const more = { system_fingerprint: 'fp', nested: { a: [1] } };
  const events = decode(
    { ...more, count: 1, choices: [] },
    { ...more, count: 2, choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] },
  );
  expect(events[0]).toMatchObject({ type: 'start', extensions: { openai: { ...more, count: 1 } } });
  expect(events.at(-1)?.type === 'finish' && events.at(-1)).toMatchObject({
    extensions: { openai: { body: { count: 2 } } },
  });
  expect(JSON.stringify(events.at(-1))).not.toContain('fp');
});

test.each(['obfuscation', 'p'])('padding that hides the length of a chunk is not passed on: %s', (name) => {
  const padded = (piece: Json, padding: string): Json => ({ ...(piece as JsonObject), [name]: padding });
  const events = decode(padded(chunk({ content: 'a' }), 'x7'), padded(chunk({}, 'stop'), 'y'));
  for (const event of events) expect(event).not.toHaveProperty('extensions');
});

test('lists of a choice go on in chunks that are all alike', () => {
  const line = chunk({ content: '\n' }, null, { token_ids: [13] });
  const events = decode(line, line, line, line, chunk({}, 'stop'));
  expect(events.at(-1)).toMatchObject({
    extensions: { openai: { choice: { token_ids: [13, 13, 13, 13] } } },
  });
});

test('lists of a choice go on in the next chunk, and other fields are replaced', () => {
  const events = decode(
    chunk({ content: 'a' }, null, { token_ids: [1, 2], filter: { hate: true } }),
    chunk({ content: 'b' }, null, { token_ids: [3], filter: { hate: false } }),
    chunk({}, 'stop', { token_ids: [] }),
  );
  expect(events.at(-1)?.type === 'finish' && events.at(-1)).toMatchObject({
    extensions: { openai: { choice: { token_ids: [1, 2, 3], filter: { hate: false } } } },
  });
});

describe('pieces of calls', () => {
  type Piece = { index?: number | null; id?: string | null; name?: string | null; args?: Json };
  const pieces = (...all: Piece[]) =>
    contentOf(
      ...all.map(({ index, id, name, args }) =>
        chunk({
          tool_calls: [
            {
              ...(index !== undefined && { index }),
              ...(id !== undefined && { id }),
              function: {
                ...(name !== undefined && { name }),
                ...(args !== undefined && { arguments: args }),
              },
            },
          ],
        }),
      ),
    ).map((part) => (part.type === 'tool-call' ? `${part.id} ${part.name} ${part.arguments}` : part.type));

  test.each<[string, Piece[], string[]]>([
    [
      'belong to the call of their number',
      [
        { index: 0, id: 'a', name: 'f', args: '{"x"' },
        { index: 1, id: 'b', name: 'g', args: '{' },
        { index: 0, args: ':1}' },
        { index: 1, args: '}' },
      ],
      ['a f {"x":1}', 'b g {}'],
    ],
    [
      'belong to the call of their id where there are no numbers',
      [
        { id: 'a', name: 'f', args: '{' },
        { id: 'b', name: 'g', args: '{' },
        { id: 'a', args: '}' },
        { id: 'b', args: '}' },
      ],
      ['a f {}', 'b g {}'],
    ],
    ['belong to the last call where there is neither', [{ id: 'a', name: 'f' }, { args: '{}' }], ['a f {}']],
    [
      'start a call with another id and name under the same number',
      [
        { index: 0, id: 'a', name: 'f', args: '{}' },
        { index: 0, id: 'b', name: 'f', args: '{}' },
      ],
      ['a f {}', 'b f {}'],
    ],
    [
      'repeat id and name each time',
      [
        { index: 0, id: 'a', name: 'f', args: '{' },
        { index: 0, id: 'a', name: 'f', args: '}' },
      ],
      ['a f {}'],
    ],
    [
      'go on with a call under another id without a name',
      [
        { index: 0, id: 'a', name: 'f', args: '{' },
        { index: 0, id: 'b', args: '}' },
      ],
      ['a f {}'],
    ],
    [
      'start a call with the same name and number where both have all of their arguments',
      [
        { index: 0, name: 'f', args: '{"x":1}' },
        { index: 0, id: '', name: 'f', args: ' {"x":2}\n' },
        { index: 0, name: 'f', args: '{}' },
      ],
      ['call_g1_0 f {"x":1}', 'call_g1_1 f  {"x":2}\n', 'call_g1_2 f {}'],
    ],
    [
      'belong to one call under the same name as long as one of them is a part',
      [
        { index: 0, name: 'f', args: '{"x":' },
        { index: 0, name: 'f', args: '{"y":1}' },
        { index: 0, name: 'f', args: '}' },
      ],
      ['call_g1_0 f {"x":{"y":1}}'],
    ],
    [
      'belong to one call under the same name as long as none of them is an object',
      [
        { index: 0, name: 'f', args: '{"x":"{' },
        { index: 0, name: 'f', args: '}"}' },
        { index: 0, name: 'f', args: '' },
      ],
      ['call_g1_0 f {"x":"{}"}'],
    ],
    [
      'have ids of their own where the server gives all of them one',
      [
        { index: 0, id: 'a', name: 'f', args: '{"x":1}' },
        { index: 1, id: 'a', name: 'f', args: '{"x":2}' },
        { index: 2, id: 'b', name: 'g', args: '{}' },
      ],
      ['a f {"x":1}', 'call_g1_1 f {"x":2}', 'b g {}'],
    ],
    [
      'start a call with another name after arguments',
      [
        { index: 0, name: 'f', args: '{}' },
        { index: 0, name: 'g', args: '{}' },
      ],
      ['call_g1_0 f {}', 'call_g1_1 g {}'],
    ],
    [
      'start a call with any name after a name where there are no numbers',
      [{ name: 'f', args: '{"x":' }, { args: '1}' }, { name: 'f', args: '{}' }],
      ['call_g1_0 f {"x":1}', 'call_g1_1 f {}'],
    ],
    [
      'bring a name in pieces, again or longer',
      [
        { index: 0, id: 'a', name: 'get_' },
        { index: 0, name: 'time' },
        { index: 0, name: 'get_time' },
        { index: 0, name: 'get_time_of' },
        { index: 0, name: '', args: '{}' },
      ],
      ['a get_time_of {}'],
    ],
    [
      'bring the name after arguments',
      [
        { index: 0, id: 'a', name: '', args: '{"x"' },
        { index: 0, name: 'f', args: ':1}' },
        { index: 1, id: 'b', args: '{' },
        { index: 1, name: 'g' },
        { index: 1, args: '}' },
      ],
      ['a f {"x":1}', 'b g {}'],
    ],
    [
      'bring the name after arguments, where there are no numbers',
      [{ args: '{"x"' }, { name: 'f', args: ':1}' }, { name: 'g', args: '{}' }],
      ['call_g1_0 f {"x":1}', 'call_g1_1 g {}'],
    ],
    [
      'bring the id late, or empty, or none',
      [
        { index: 0, id: '', name: 'f' },
        { index: 0, id: 'a' },
        { index: 1, id: '', name: 'g', args: { x: 1 } },
      ],
      ['a f ', 'call_g1_1 g {"x":1}'],
    ],
  ])('%s', (_name, all, calls) => {
    expect(pieces(...all)).toEqual(calls);
  });

  test.each([{}, { name: '' }, { name: null, arguments: '' }])(
    'that say nothing are no call, and hold back no text: %j',
    (nothing) => {
      const decoder = new ChatStreamDecoder(context);
      const push = (each: Json) => decoder.push({ data: JSON.stringify(each) });
      push(chunk({ content: 'a', tool_calls: [{ index: 0, function: nothing }] }));
      const next = push(chunk({ content: 'b' }));
      expect(next).toMatchObject([{ type: 'text-delta', text: 'b' }]);
      push(chunk({}, 'stop'));
      expect(decoder.end()).toMatchObject([{ type: 'finish', reason: 'stop' }]);
    },
  );

  test('of a call that never gets a name are a failure: nobody could answer it', () => {
    const call = (name: string | null, args: string) =>
      chunk({ tool_calls: [{ index: name === 'f' ? 0 : 1, function: { name, arguments: args } }] });
    for (const pieces of [
      [call('', '{}')],
      [call(null, '{"a":'), call('', '1}')],
      [call('f', '{}'), call('', '{}')],
    ]) {
      expect(decode(...pieces, chunk({}, 'tool_calls')).at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'upstream-failed', message: 'the upstream called a function without a name' },
      });
    }
  });

  test('of a call that the limit cut off before its name are left out', () => {
    const args = chunk({ tool_calls: [{ index: 0, id: 'c', function: { arguments: '{"a":' } }] });
    expect(decode(chunk({ content: 'so: ' }), args, chunk({}, 'length'))).toMatchObject([
      { type: 'start' },
      { type: 'text-delta', text: 'so: ' },
      { type: 'finish', reason: 'length' },
    ]);
  });

  test('of a second call are left out for a client that accepts one', () => {
    const decoder = new ChatStreamDecoder({ ...context, isSingleCall: true });
    const call = (index: number) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } });
    const chunks = [
      chunk({ tool_calls: [call(0), call(1)] }),
      chunk({ content: 'b' }),
      chunk({}, 'tool_calls'),
    ];
    const events = chunks.flatMap((each) => decoder.push({ data: JSON.stringify(each) }));
    const all = [...events, ...decoder.end()];
    expect(findGrammarError(all)).toBeUndefined();
    expect(all[0]).toEqual({ type: 'start', ...context });
    expect(collect(all)).toMatchObject({
      content: [
        { type: 'tool-call', id: 'c0' },
        { type: 'text', text: 'b' },
      ],
      finish: { reason: 'tool-calls' },
    });
  });

  test('may come alone instead of in a list', () => {
    const piece = (name: string | null, text: string) =>
      chunk({ tool_calls: { index: 0, id: '', type: 'function', function: { name, arguments: text } } });
    expect(contentOf(piece('f', ''), piece(null, '{"a"'), piece(null, ':1}'))).toMatchObject([
      { type: 'tool-call', name: 'f', arguments: '{"a":1}' },
    ]);
  });

  test('are read once where the server writes each under both names', () => {
    const both = (id: string, name: string, text: string) => {
      const body = { name, arguments: text };
      return { tool_calls: [{ index: 0, id, type: 'function', function: body }], function_call: body };
    };
    const parts = [{ type: 'tool-call', id: 'a', name: 'f', arguments: '{"x":1}' }];
    // The deprecated name holds no more than the first of several calls.
    const two = both('a', 'f', '{"x":1}');
    two.tool_calls.push({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } });
    const second = { type: 'tool-call', id: 'b', name: 'g', arguments: '{}' };
    expect(contentOf(chunk(both('a', 'f', '{"x"')), chunk(both('a', 'f', ':1}')))).toEqual(parts);
    expect(contentOf(chunk(two))).toEqual([...parts, second]);
    const body = { choices: [{ message: { role: 'assistant', content: null, ...two } }] };
    expect(collect(decodeResponse(body, context)).content).toEqual([...parts, second]);
  });

  test.each([{}, { tool_calls: null }, { tool_calls: [] }])(
    'may come under the deprecated name alone, beside %j',
    (none) => {
      const piece = (body: JsonObject) => ({ ...none, function_call: body });
      const whole = { name: 'f', arguments: '{"x":1}' };
      const parts = [{ type: 'tool-call', id: 'call_g1_0', ...whole }];
      expect(
        contentOf(chunk(piece({ name: 'f', arguments: '{"x"' })), chunk(piece({ arguments: ':1}' }))),
      ).toEqual(parts);
      const body = { choices: [{ message: { role: 'assistant', content: null, ...piece(whole) } }] };
      expect(collect(decodeResponse(body, context)).content).toEqual(parts);
    },
  );

  test('with unknown fields keep them, outside and inside', () => {
    const call = {
      index: 0,
      id: 'a',
      type: 'function',
      odd: 1,
      function: { name: 'f', arguments: '{}', even: 2 },
    };
    const late = { index: 0, late: 3, function: { arguments: ' ' } };
    expect(contentOf(chunk({ tool_calls: [call] }), chunk({ tool_calls: [late] }))).toEqual([
      {
        type: 'tool-call',
        id: 'a',
        name: 'f',
        arguments: '{} ',
        extensions: { openai: { odd: 1, late: 3, function: { even: 2 } } },
      },
    ]);
  });

  test('of another type append their text and replace the rest', () => {
    const piece = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
    expect(
      contentOf(
        piece({ id: 'c', type: 'custom', state: 'a', custom: { name: 'sh', input: 'ls', mode: 'x' } }),
        piece({ state: 'b', custom: { input: ' -l', mode: 'y' } }),
      ),
    ).toEqual([
      {
        type: 'opaque',
        format: 'openai',
        value: { id: 'c', type: 'custom', state: 'b', custom: { name: 'sh', input: 'ls -l', mode: 'y' } },
      },
    ]);
  });
});

describe('a single body', () => {
  test('is read like a stream, with its calls by their place', () => {
    const call = (name: string) => ({
      index: 0,
      id: name,
      type: 'function',
      function: { name, arguments: '{}' },
    });
    const message = { role: 'assistant', content: 'a', tool_calls: [call('f'), call('g'), 7] };
    const events = decodeResponse({ choices: [{ index: 3, message, finish_reason: 'tool_calls' }] }, context);
    expect(collect(events).content.map((part) => ('name' in part ? part.name : part.type))).toEqual([
      'text',
      'f',
      'g',
    ]);
  });

  test('without a message or a choice is an empty answer', () => {
    for (const body of [{ choices: [] }, { choices: [7] }, { choices: [{ message: 7 }] }]) {
      expect(collect(decodeResponse(body, context)).content).toEqual([]);
    }
  });

  test('without any sign of an answer is none, and has not begun', () => {
    const [zhipu, empty] = [
      { code: 500, msg: 'not found', success: false },
      { id: 'x', choices: null },
    ];
    for (const body of [zhipu, empty]) {
      const failed = [{ type: 'error', error: { kind: 'upstream-failed' } }];
      expect(decodeResponse(body, context)).toMatchObject(failed);
      expect(decode(body)).toMatchObject(failed);
    }
    expect(contentOf(empty, chunk({ content: 'a' }))).toEqual([{ type: 'text', text: 'a' }]);
  });
});

describe('an error', () => {
  test.each<[string, unknown, object]>([
    ['plain text', 'busy', { message: 'busy' }],
    ['a text for an error', { error: 'busy' }, { message: 'busy' }],
    [
      'a bare object',
      { message: 'busy', param: 'model' },
      { message: 'busy', extensions: { openai: { param: 'model' } } },
    ],
    ['a detail', { detail: 'busy' }, { message: 'busy' }],
    ['a number for an error', { error: 7 }, { message: 'the upstream answered with status 400' }],
    ['odd fields', { error: { message: 7, param: 7, type: 7, code: {} } }, {}],
    ['an empty message', { error: { message: '' } }, { message: 'the upstream answered with status 400' }],
    ['a model that is not there', { error: { code: 'model_not_found' } }, { kind: 'not-found' }],
  ])('in the shape of %s is read', (_name, body, wanted) => {
    const error = decodeError(400, {}, body);
    expect(error).toMatchObject({ kind: 'invalid-request', ...wanted });
    if (!('extensions' in wanted)) expect(error).not.toHaveProperty('extensions');
  });

  test('in band is recognised by its shape', () => {
    expect(decodeInBandError({ object: 'error', message: 'busy', code: 400 })).toEqual({
      kind: 'invalid-request',
      message: 'busy',
    });
    expect(decodeInBandError({ error: {} })).toEqual({
      kind: 'upstream-failed',
      message: 'the upstream reported an error without a message',
    });
    expect(decodeInBandError({ error: { code: 399 } })?.kind).toBe('upstream-failed');
    for (const body of [{ error: null }, { object: 'list' }, 7, null]) {
      expect(decodeInBandError(body)).toBeUndefined();
    }
  });

  test.each([
    [1002, 'rate limit', 'rate-limited'],
    [1039, 'token limit', 'rate-limited'],
    [1004, 'login fail: the key sk-secret is unknown', 'unauthenticated'],
    [2049, 'invalid api key', 'unauthenticated'],
    [1008, 'insufficient balance', 'budget-exhausted'],
    [1026, 'input new_sensitive', 'invalid-request', 'content-filtered'],
    [1027, 'output new_sensitive', 'invalid-request', 'content-filtered'],
    [2013, 'invalid params, missing field messages', 'invalid-request'],
    [2013, 'invalid params, context window exceeds limit', 'invalid-request', 'context-length-exceeded'],
    [1033, 'system error', 'upstream-failed'],
  ])('with status 200 is what MiniMax says in its own code %i: %s', (code, words, kind, detail?: string) => {
    const body = { id: 'x', choices: null, base_resp: { status_code: code, status_msg: words } };
    const failed = [{ type: 'error', error: { kind, ...(detail && { detail }) } }];
    expect(decodeResponse(body, context)).toMatchObject(failed);
    expect(decode(body)).toMatchObject(failed);
    expect(JSON.stringify(decode(body))).not.toContain('sk-secret');
  });

  test('is none if MiniMax says so beside its answer', () => {
    const choices = [{ index: 0, delta: { content: 'a' } }];
    const fine = { choices, base_resp: { status_code: 0, status_msg: '' } };
    expect(contentOf(fine)).toEqual([{ type: 'text', text: 'a' }]);
  });

  test('is a message of that name, whatever it holds and whatever follows', () => {
    // As llama.cpp sends it: without `error` around it, and with an end as if all were well.
    const said = { code: 400, message: 'the request exceeds the available context size', type: 'x' };
    for (const [data, error] of [
      [JSON.stringify(said), { kind: 'invalid-request', detail: 'context-length-exceeded' }],
      [
        JSON.stringify({ error: { message: 'slot gone' } }),
        { kind: 'upstream-failed', message: 'slot gone' },
      ],
      ['gone', { kind: 'upstream-failed', message: 'gone' }],
    ] as const) {
      const decoder = new ChatStreamDecoder(context);
      decoder.push({ data: JSON.stringify(chunk({ content: 'half of' })) });
      expect(decoder.push({ event: 'error', data })).toMatchObject([{ type: 'error', error }]);
      expect(decoder.push({ data: '[DONE]' })).toEqual([]);
    }
  });
});
