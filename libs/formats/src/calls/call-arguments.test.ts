import { expect, test } from 'vitest';
import { valueLimit } from '../json/text-values.ts';
import { parseArguments } from './call-arguments.ts';

test.each([
  ['', {}],
  [' ', {}],
  ['{"a":1}', { a: 1 }],
])('complete arguments are not cut off: %j', (text, input) => {
  expect(parseArguments(text)).toEqual({ input, isReadable: true, isCut: false });
});

test.each([
  ['{"a":"he', { a: 'he' }],
  ['{"a":"x\\', { a: 'x' }],
  ['{"a":"x\\u00', { a: 'x' }],
  ['{"a":1,"b"', { a: 1 }],
  ['{"a":1,"b":', { a: 1 }],
  ['{"a":[1,{"b":2},', { a: [1, { b: 2 }] }],
  ['{"a":[1,{"b":2}],"c":tr', { a: [1, { b: 2 }] }],
  ['{"a":[{"b":1}', { a: [{ b: 1 }] }],
  ['{"a":"with } and , in it","b":[', { a: 'with } and , in it', b: [] }],
])('arguments that were cut off are completed: %s', (text, input) => {
  expect(parseArguments(text)).toEqual({ input, isReadable: true, isCut: true });
});

test.each([
  'not json',
  '[1]',
  '"text"',
  '7',
  'nul',
  'nulls',
  'null {}',
  '}{',
  ']]]',
  '{"a":[1] tr',
  "{'a':1}",
  '{"a":1} b',
  '{"a":1,"b":c}',
])('what is no object, nor the beginning of one, is empty: %s', (text) => {
  expect(parseArguments(text)).toEqual({ input: {}, isReadable: false, isCut: false });
});

test.each(['', ' ', 'null', ' null\n'])('what says that there is nothing is no argument: %j', (text) => {
  expect(parseArguments(text)).toEqual({ input: {}, isReadable: true, isCut: false });
});

test.each([
  ['{"a":"two\nlines"}', { a: 'two\nlines' }],
  ['{"a":[1,],}', { a: [1] }],
  ['```json\n{"a":1}\n```', { a: 1 }],
])('an unambiguous slip is repaired: %j', (text, input) => {
  expect(parseArguments(text)).toEqual({ input, isReadable: true, isCut: false });
});

test('a megabyte of brackets is given up in linear time', () => {
  expect(parseArguments(`{"a":${'[,'.repeat(500_000)}`).isReadable).toBe(false);
});

test('an object of more values than a request may bring is given up', () => {
  expect(parseArguments(`{"a":[${'{},'.repeat(valueLimit)}{}]}`).isReadable).toBe(false);
  const long = JSON.stringify({ a: '{},'.repeat(valueLimit) });
  expect(parseArguments(long).input).toEqual(JSON.parse(long));
});
