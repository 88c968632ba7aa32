import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findWrong } from './questions.ts';
import { sourcesOf } from './sources.ts';

const root = join(import.meta.dirname, '../..');

test('mutants are made of production code, never of tests or of files that only assemble', () => {
  const files = sourcesOf(root, 'openai');
  expect(files).toContain('src/openai/stream-encode.ts');
  expect(files.filter((file) => /\.test\.ts$|index\.ts$|document\.ts$/.test(file))).toEqual([]);
  expect(sourcesOf(root, 'shared')).toContain('src/sse.ts');
  expect(sourcesOf(root, 'shared')).not.toContain('src/golden-run.ts');
});

test('a mutant is noticed by a wrong answer, by a throw and by a rejection', async () => {
  const wrong = () => false;
  const crash = () => {
    throw new TypeError('crash');
  };
  const reject = async () => crash();
  expect(await findWrong([() => true, () => undefined])).toBeUndefined();
  expect(await findWrong([() => true, wrong])).toBe(wrong);
  expect(await findWrong([crash])).toBe(crash);
  expect(await findWrong([reject])).toBe(reject);
});
