import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isNoticed } from './decide.ts';
import { sourcesOf } from './sources.ts';

test('mutants are made of what serves, never of tests or of what only assembles', () => {
  const files = sourcesOf(join(import.meta.dirname, '../..'), 'openai');
  expect(files).toContain('src/openai/stream-encode.ts');
  expect(files.filter((file) => /\.test\.ts$|index\.ts$|document\.ts$/.test(file))).toEqual([]);
});

test('a mutant is noticed by a wrong answer and by a crash', () => {
  const crash = () => {
    throw new TypeError('crash');
  };
  expect(isNoticed([() => true, () => true])).toBe(false);
  expect(isNoticed([() => true, () => false])).toBe(true);
  expect(isNoticed([crash])).toBe(true);
});
