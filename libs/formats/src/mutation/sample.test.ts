import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isNoticed } from './decide.ts';
import { sampleLines, sourcesOf } from './sample.ts';

const root = join(import.meta.dirname, '../..');

describe('a sample of lines', () => {
  const files = sourcesOf(root, 'openai');

  test('is the same for the same seed and another for another', () => {
    const sample = sampleLines(root, files, 20, 1);
    expect(sample).toHaveLength(20);
    expect(sampleLines(root, files, 20, 1)).toEqual(sample);
    expect(sampleLines(root, files, 20, 2)).not.toEqual(sample);
  });

  test('never holds tests or what only assembles', () => {
    expect(files.filter((file) => /\.test\.ts$|index\.ts$|document\.ts$/.test(file))).toEqual([]);
  });
});

test('a mutant is noticed by a wrong answer and by a crash', () => {
  const crash = () => {
    throw new TypeError('crash');
  };
  expect(isNoticed([() => true, () => true])).toBe(false);
  expect(isNoticed([() => true, () => false])).toBe(true);
  expect(isNoticed([crash])).toBe(true);
});
