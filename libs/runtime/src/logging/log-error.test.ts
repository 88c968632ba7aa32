import { SluiceError } from '@sluice/canonical';
import { expect, it } from 'vitest';
import { describeError, type LoggedError } from './log-error.ts';

/** The messages of an error and of its causes. */
function messagesOf({ message, cause }: LoggedError): string[] {
  return [message, ...(cause ? messagesOf(cause) : [])];
}

it('causes are followed to the fourth', () => {
  let error = new Error('cause 6');
  for (let depth = 5; depth >= 0; depth -= 1) error = new Error(`cause ${depth}`, { cause: error });
  expect(messagesOf(describeError(error))).toEqual(['cause 0', 'cause 1', 'cause 2', 'cause 3', 'cause 4']);
});

it('errors that refer to each other come to an end', () => {
  const error = new AggregateError([], 'several');
  error.errors.push(error);
  expect(JSON.stringify(describeError(error)).match(/"several"/g)).toHaveLength(5);
});

it('of many errors the first five are told', () => {
  const errors = Array.from({ length: 7 }, (_, index) => new Error(`error ${index}`));
  const described = describeError(new AggregateError(errors, 'several'));
  expect(described.errors?.map(({ message }) => message)).toEqual([
    'error 0',
    'error 1',
    'error 2',
    'error 3',
    'error 4',
  ]);
});

it('a long message is cut', () => {
  expect(describeError(new Error('x'.repeat(5_000))).message).toBe('x'.repeat(2_000));
});

it('credentials are masked in the message and in the stack that repeats it', () => {
  const described = describeError(new Error('the key sk-canarycanary\nof a client'));
  expect(described.message).toBe('the key sk-***\nof a client');
  expect(described.stack).toMatch(/^Error: the key sk-\*\*\*\nof a client\n +at .*log-error\.test\.ts/);
  expect(described.stack).not.toContain('canary');
});

it.each([
  ['ECONNREFUSED', 'ECONNREFUSED'],
  [42, '42'],
  [{ secret: 1 }, undefined],
  [undefined, undefined],
])('the code %j is told as %j', (code, told) => {
  expect(describeError(Object.assign(new Error('x'), { code })).code).toBe(told);
});

it('an error of ours has a kind and no code, and a detail only if it was given one', () => {
  const described = describeError(Object.assign(new SluiceError('internal', 'x'), { code: 'E' }));
  expect(described).toMatchObject({ name: 'SluiceError', kind: 'internal' });
  expect(Object.keys(described).sort()).toEqual(['kind', 'message', 'name', 'stack']);
  expect(describeError(new SluiceError('internal', 'x', { detail: 'poison' })).detail).toBe('poison');
});

it.each([
  [null, 'a thrown null'],
  [undefined, 'a thrown undefined'],
  ['canary', 'a thrown string'],
  [{ message: 'canary' }, 'a thrown object'],
])('%j is %s', (thrown, message) => {
  expect(describeError(thrown)).toEqual({ name: 'Thrown', message });
});

it('an error without frames has no stack', () => {
  const error = new Error('x');
  error.stack = 'Error: canary';
  expect(describeError(error)).toEqual({ name: 'Error', message: 'x' });
});

it('only what JSON.parse says is replaced, not every mistake in a syntax', () => {
  expect(describeError(new SyntaxError('Invalid regular expression')).message).toBe(
    'Invalid regular expression',
  );
  expect(describeError(new Error('no JSON here')).message).toBe('no JSON here');
});
