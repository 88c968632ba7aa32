import { expect, it } from 'vitest';
import { Spending } from './spending.ts';

it('several answers to one prompt have cost all of their output, and the prompt once', () => {
  const spending = new Spending(2);
  for (const outputTokens of [3, 4]) {
    const usage = { inputTokens: 7, outputTokens, reasoningTokens: 1 };
    spending.ended({ type: 'finish', reason: 'stop', usage }, outputTokens);
  }
  expect(spending.total(7, true)).toEqual({ inputTokens: 7, outputTokens: 7, reasoningTokens: 2 });
});

it('several answers have cost the thoughts of those that report any', () => {
  const spending = new Spending(3);
  for (const thoughts of [{}, { reasoningTokens: 2 }, {}]) {
    const usage = { inputTokens: 7, outputTokens: 3, ...thoughts };
    spending.ended({ type: 'finish', reason: 'stop', usage }, 3);
  }
  expect(spending.total(9, true)).toEqual({ inputTokens: 7, outputTokens: 9, reasoningTokens: 2 });
});

it('the prompt costs what the first of several answers says of it', () => {
  const spending = new Spending(2);
  for (const inputTokens of [7, 9])
    spending.began({ type: 'start', id: 'r', model: 'm', createdAt: 1, inputTokens });
  expect(spending.total(5, true)).toEqual({ inputTokens: 7, outputTokens: 5 });
});

it('an answer that ended before any worker took it has cost nothing, not even its prompt', () => {
  const spending = new Spending(1);
  spending.ended({ type: 'error', error: { kind: 'deadline-exceeded', message: 'too late' } }, 0);
  expect(spending.total(0, false)).toEqual({ inputTokens: 0, outputTokens: 0 });
});

it('the prompt costs what the start of an answer says of it, where its end says nothing of it', () => {
  const spending = new Spending(1);
  spending.began({ type: 'start', id: 'r', model: 'm', createdAt: 1, inputTokens: 7 });
  spending.ended({ type: 'finish', reason: 'stop', usage: { outputTokens: 5 } }, 4);
  expect(spending.total(4, true)).toEqual({ inputTokens: 7, outputTokens: 5 });
});

it('an answer costs what its end says, whatever a worker had said before that another attempt followed', () => {
  const spending = new Spending(1);
  const usage = { inputTokens: 7, outputTokens: 5 };
  spending.ended({ type: 'finish', reason: 'stop', usage }, 5, { inputTokens: 7, outputTokens: 9 });
  expect(spending.total(5, true)).toEqual(usage);
});
