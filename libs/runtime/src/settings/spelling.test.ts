import { expect, it } from 'vitest';
import { nearestSpelling, spellingHint } from './spelling.ts';

it.each([
  ['slot', ['slots', 'engine'], 'slots'],
  ['waitbudget', ['waitBudgetMs', 'maxWaiting'], 'waitBudgetMs'],
  ['WAIT_BUDGET_MS', ['waitBudgetMs'], 'waitBudgetMs'],
  ['pols', ['models', 'pools'], 'pools'],
  ['slto', ['slot', 'stop'], 'slot'],
  ['zzz', ['pools'], undefined],
  ['x', [], undefined],
])('%s among %j is %s', (word, candidates, nearest) =>
  expect(nearestSpelling(word, candidates)).toBe(nearest),
);

it('where nothing is near, the few names that exist are listed', () => {
  expect(spellingHint('zzz', ['a-name', 'other'])).toBe('; known: a-name, other');
  expect(spellingHint('zzz', [])).toBe('');
  expect(
    spellingHint(
      'zzz',
      Array.from({ length: 13 }, (_, index) => `name${index}`),
    ),
  ).toBe('');
});
