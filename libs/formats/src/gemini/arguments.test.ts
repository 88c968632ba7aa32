import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';

test.each([
  ['', {}],
  ['  ', {}],
  ['null', {}],
  [' null\n', {}],
  ['{"a":1}', { a: 1 }],
  ['```json\n{"a":1}\n```', { a: 1 }],
  ['```\n{"a":1}```', { a: 1 }],
  ['{"a":[1,2,],"b":"x,}",}', { a: [1, 2], b: 'x,}' }],
  ['{"a":"one\ntwo\ttabs \\" and ,]"}', { a: 'one\ntwo\ttabs " and ,]' }],
])('%j is read as arguments', (text, args) => {
  expect(parseArguments(text)).toEqual({ args, isMalformed: false });
});

test.each([
  '{"command":"rm -rf /tmp',
  '{"a":1',
  'nul',
  'null {}',
  '[1]',
  '"text"',
  '{a:1}',
  '```',
  '{"a":"\\',
])('%j is not guessed at', (text) => {
  expect(parseArguments(text)).toEqual({ args: {}, isMalformed: true });
});

test('whatever a model writes, arguments are an object, and a valid one stays unchanged', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(typeof parseArguments(text).args).toBe('object');
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const text = JSON.stringify(object);
      expect(JSON.stringify(parseArguments(text).args)).toBe(text);
    }),
  );
});

test('a huge text without an end is read once, not once per quote', () => {
  // With quadratic reading, this would not end within the time limit of a test.
  expect(parseArguments(`{"a":"${'\\"'.repeat(1_000_000)}`).isMalformed).toBe(true);
});
