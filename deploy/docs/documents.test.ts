import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { limits, refusalNames } from '@sluice/admission';
import { settingNames } from '@sluice/runtime';
import { describe, expect, test } from 'vitest';
import { generateDocuments } from './documents.ts';

test.each(['../../README.md', '../../apps/loadtest/README.md', '../../docs/configuration.md'])(
  '%s runs no TypeScript by the system’s Node, which may be too old for it',
  (path) => {
    const text = readFileSync(new URL(path, import.meta.url), 'utf8');
    expect(text.match(/(^|`)node \S+\.ts\b.*/gm) ?? []).toEqual([]);
  },
);

test('the README has a row for the paths of every format', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const rows = new Set(
    Array.from(read('../../README.md').matchAll(/^\| ([^|]+) \| `POST /gm), ([, name = '']) =>
      name.toLowerCase(),
    ),
  );
  // Safe to cast: our own file, which is held to the code.
  const { paths } = JSON.parse(read('../../docs/openapi.json')) as {
    paths: Record<string, { post?: { tags: string[] } }>;
  };
  const formats = new Set(Object.values(paths).flatMap(({ post }) => post?.tags ?? []));
  expect(rows).toEqual(new Set([...formats].map((title) => title.toLowerCase())));
});

test('a name of the environment is known to every process if one of them reads it, and to none if none does', () => {
  const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const documented = [...text.matchAll(/^\| `(SLUICE_\w+)`(, `…_FILE`)?/gm)].flatMap(([, name = '', file]) =>
    file ? [name, `${name}_FILE`] : [name],
  );
  expect([...new Set(documented)].sort()).toEqual(settingNames.toSorted());
});

describe('the generated documents', () => {
  const documents = generateDocuments();

  test.each(documents.map(({ path, text }) => [basename(path), path, text] as const))(
    '%s is what the code says: run `npm run docs` after a change',
    (_name, path, text) => {
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('name whatever may refuse beside the limits of a tenant', () => {
    const own = limits.map(({ name }) => name);
    const row = documents.map(({ text }) => /^\| `sluice_refusals_total`.*$/m.exec(text)?.[0] ?? '').join('');
    expect(refusalNames.filter((name) => !own.includes(name) && !row.includes(name))).toEqual([]);
    for (const name of ['overload', 'prompts', 'bodies']) expect(row).toContain(name);
  });

  test('explain every setting and show no secret', () => {
    for (const { text } of documents) {
      const rows = text.split('\n').filter((line) => line.startsWith('| `'));
      expect(rows.length).toBeGreaterThan(5);
      expect(rows.filter((row) => /\| {1,2}\|$/.test(row))).toEqual([]);
    }
  });
});
