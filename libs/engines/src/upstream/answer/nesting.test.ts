import { expect, it } from 'vitest';
import { deepestAnswer, isTooDeep } from './nesting.ts';

const nested = (levels: number, inner = '') => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`;

it('counts the levels of lists and objects, and nothing inside of a string', () => {
  const many = nested(3 * deepestAnswer);
  expect(isTooDeep(nested(deepestAnswer, '1'))).toBe(false);
  expect(isTooDeep(nested(deepestAnswer + 1, '1'))).toBe(true);
  expect(isTooDeep(`${'{"a":'.repeat(deepestAnswer + 1)}1${'}'.repeat(deepestAnswer + 1)}`)).toBe(true);
  expect(isTooDeep(`[${'{},[],'.repeat(deepestAnswer)}1]`)).toBe(false);
  for (const text of [many, `\\"${many}`, `"${many}\\\\`, `"\\"${many}`])
    expect(isTooDeep(JSON.stringify({ text }))).toBe(false);
  expect(isTooDeep(`["\\\\",${many}]`)).toBe(true);
  expect(isTooDeep(`"${many}`)).toBe(false);
});
