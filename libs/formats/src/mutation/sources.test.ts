import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findWrong, testsOf } from './questions.ts';
import { sourcesOf } from './sources.ts';
import * as collector from './test-collector.ts';

const root = join(import.meta.dirname, '../..');

test('mutants are made of production code, never of tests or of files that only assemble', () => {
  const files = sourcesOf(root, 'openai');
  expect(files).toContain('src/openai/answer/stream-encode.ts');
  expect(files.filter((file) => /\.test\.ts$|index\.ts$|document\.ts$/.test(file))).toEqual([]);
  const shared = sourcesOf(root, 'shared');
  expect(shared).toContain('src/sse.ts');
  expect(shared).toContain('src/calls/argument-scanner.ts');
  expect(shared.filter((file) => /golden-run\.ts$|\/(?:openai|matrix)\//.test(file))).toEqual([]);
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

test('the tests of the codecs take no more from their runner than its stand-in has', () => {
  const missing = testsOf('shared').flatMap((file) => {
    const [, names = ''] = /^import \{([^}]*)\} from 'vitest';/m.exec(readFileSync(file, 'utf8')) ?? [];
    const taken = names.split(',').map((name) => name.trim());
    return taken.filter((name) => name !== '' && !Object.hasOwn(collector, name)).map((name) => [file, name]);
  });
  expect(missing).toEqual([]);
});
