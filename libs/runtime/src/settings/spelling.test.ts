import { expect, it } from 'vitest';
import { nearestSpelling, spellingHint } from './spelling.ts';

it.each([
  ['slot', ['slots', 'engine'], 'slots'],
  ['waitbudget', ['waitBudgetMs', 'maxWaiting'], 'waitBudgetMs'],
  ['WAIT_BUDGET_MS', ['waitBudgetMs'], 'waitBudgetMs'],
  ['pols', ['models', 'pools'], 'pools'],
  ['slto', ['slot', 'stop'], 'slot'],
  ['slxy', ['slot'], undefined],
  ['sltx', ['slot'], undefined],
  ['slxo', ['slot'], undefined],
  ['zzz', ['pools'], undefined],
  ['pols', ['polls', 'pools'], 'polls'],
  ['x', [], undefined],
])('%s among %j is %s', (word, candidates, nearest) =>
  expect(nearestSpelling(word, candidates)).toBe(nearest),
);

it('a name that is near is suggested, unless it has spaces', () => {
  expect(spellingHint('slot', ['slots', 'engine'])).toBe('; did you mean slots?');
  expect(spellingHint('slot', ['slo t', ' slot', 'slot '])).toBe('');
});

it('where nothing is near, the few names that exist are listed', () => {
  expect(spellingHint('zzz', ['a-name', 'other'])).toBe('; known: a-name, other');
  expect(spellingHint('zzz', [])).toBe('');
  const twelve = Array.from({ length: 12 }, (_, index) => `name${index}`);
  expect(spellingHint('zzz', twelve)).toBe(`; known: ${twelve.join(', ')}`);
  expect(
    spellingHint(
      'zzz',
      Array.from({ length: 13 }, (_, index) => `name${index}`),
    ),
  ).toBe('');
});
