import { expect, test } from 'vitest';
import { CallLedger } from './calls.ts';

const ledger = (...taken: string[]) => new CallLedger(new Set(taken));

test('ids of the client are kept, and missing ones are numbered', () => {
  const calls = ledger('call_1', 'toolu_7');
  expect(calls.open('toolu_7', 'a')).toBe('toolu_7');
  expect(calls.open(undefined, 'a')).toBe('call_2');
  expect(calls.open('', 'a')).toBe('call_3');
});

test('a result without an id answers the first unanswered call of its name', () => {
  const calls = ledger();
  calls.open(undefined, 'a');
  calls.open(undefined, 'b');
  calls.open(undefined, 'a');
  expect(calls.answer(undefined, 'a').id).toBe('call_1');
  expect(calls.answer(undefined, 'a').id).toBe('call_3');
  expect(calls.answer(undefined, 'b').id).toBe('call_2');
});

test('a result that only the client numbered answers a call that it did not number', () => {
  const calls = ledger('r1');
  calls.open(undefined, 'a');
  expect(calls.answer('r1', 'a')).toEqual({ id: 'call_1', name: 'a' });
});

test('a result without a call keeps its id, or gets one of its own', () => {
  const calls = ledger('x');
  calls.open('y', 'a');
  expect(calls.answer('x', 'a')).toEqual({ id: 'x', name: 'a' });
  expect(calls.answer(undefined, 'b')).toEqual({ id: 'call_1', name: 'b' });
});

test('a result that has only an id learns its name from the call', () => {
  const calls = ledger('y');
  calls.open('y', 'a');
  expect(calls.answer('y', undefined)).toEqual({ id: 'y', name: 'a' });
});
