import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChunkTemplate } from './chunk-template.ts';
import { ChatStreamDecoder } from './stream-decode.ts';

const chunk = (delta: object, more: object = {}) =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }] });

describe('ChunkTemplate', () => {
  const template = ChunkTemplate.learn(chunk({ role: 'assistant', content: 'a"b' }), 'a"b');

  test.each(['', 'plain', 'a"b', 'back\\slash', 'line\n', 'ä€😀', '"', '\\"'])(
    'reads the text %j',
    (text) => {
      expect(template?.read(chunk({ role: 'assistant', content: text }))).toBe(text);
    },
  );

  test.each([
    ['another field', chunk({ role: 'assistant', reasoning: 'x' })],
    ['no text', chunk({ role: 'assistant', content: null })],
    ['a number', chunk({ role: 'assistant', content: 12 })],
    ['a reason to finish', chunk({ role: 'assistant', content: 'x' }, { finish_reason: 'stop' })],
    ['one field more', chunk({ role: 'assistant', content: 'x', refusal: 'y' })],
    ['another word before the text', chunk({ role: 'assistant', content: 'x' }).replace('"x"', '"y"')],
    ['another word behind it', chunk({ role: 'assistant', content: 'x' }).replace(/null(?=\}\])/, 'true')],
    ['the text cut off', chunk({ role: 'assistant', content: 'x' }).slice(0, -20)],
    ['nothing', ''],
  ])('does not read a chunk with %s', (_name, data) => {
    expect(template?.read(data)).toBeUndefined();
  });

  test('is not learned if the text also occurs elsewhere', () => {
    const data = JSON.stringify({ choices: [{ delta: { content: 'x' } }], echo: { content: 'x' } });
    expect(ChunkTemplate.learn(data, 'x')).toBeUndefined();
  });
});

test('a decoder that learns gives the same events as one that parses every chunk', () => {
  const text = fc.oneof(
    fc.constantFrom('', 'a', '"', '\\', '},"x":'),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );
  const delta = fc.oneof(
    text.map((content) => ({ content })),
    text.map((content) => ({ content, reasoning_content: null })),
    text.map((reasoning_content) => ({ reasoning_content })),
    fc.tuple(text, text).map(([content, reasoning]) => ({ reasoning, content })),
    text.map((args) => ({ tool_calls: [{ index: 0, function: { name: 'f', arguments: args } }] })),
    text.map((refusal) => ({ content: '', refusal })),
  );
  const more = fc.constantFrom(
    {},
    {},
    {},
    { finish_reason: 'length' },
    { logprobs: { content: [{ token: 'x' }] } },
  );
  const data = fc.tuple(delta, more).map(([said, rest]) => chunk(said, rest));
  fc.assert(
    fc.property(fc.array(data, { maxLength: 20 }), (stream) => {
      const context = { id: 'g', createdAt: 0, model: 'm' };
      const learning = new ChatStreamDecoder(context);
      const parsing = new ChatStreamDecoder(context);
      for (const data of stream) expect(learning.push({ data })).toEqual(parsing.read(JSON.parse(data)));
      expect(learning.end()).toEqual(parsing.end());
    }),
    { numRuns: 300 },
  );
});
