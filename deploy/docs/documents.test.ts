import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { generateDocuments } from './documents.ts';

describe('the generated documents', () => {
  const documents = generateDocuments();

  test.each(documents.map(({ path, text }) => [basename(path), path, text] as const))(
    '%s is what the code says: run `npm run docs` after a change',
    (_name, path, text) => {
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('explain every setting and show no secret', () => {
    for (const { text } of documents) {
      const rows = text.split('\n').filter((line) => line.startsWith('| `'));
      expect(rows.length).toBeGreaterThan(5);
      expect(rows.filter((row) => /\| {1,2}\|$/.test(row))).toEqual([]);
    }
  });
});
