import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTestFolder } from '../test-folder.ts';
import { parseSettings, readSettingsFile } from './settings-file.ts';

describe('readSettingsFile', () => {
  it('reads YAML', async () => {
    const path = join(openTestFolder(), 'a.yaml');
    writeFileSync(path, '# ours\npools:\n  sim: { backend: { slots: 8 } }\n');
    await expect(readSettingsFile(path)).resolves.toEqual({ pools: { sim: { backend: { slots: 8 } } } });
  });

  it('reads JSON, indented by tabs too', async () => {
    const path = join(openTestFolder(), 'a.json');
    writeFileSync(path, '{\n\t"pools": {\n\t\t"sim": [1, null, "x"]\n\t}\n}\n');
    await expect(readSettingsFile(path)).resolves.toEqual({ pools: { sim: [1, null, 'x'] } });
  });

  it('names a file that is not there', async () => {
    const path = join(openTestFolder(), 'missing.yaml');
    await expect(readSettingsFile(path)).rejects.toThrow(`${path} is not readable (ENOENT)`);
    await expect(readSettingsFile(openTestFolder())).rejects.toThrow('is not readable (EISDIR)');
  });
});

describe('parseSettings', () => {
  it('gives line and column of syntax mistakes', () => {
    expect(() => parseSettings('pools:\n  sim: {\n  - x\n', 'c.yaml')).toThrow(/c\.yaml:\d+:\d+: /);
    expect(() => parseSettings('a: 1\nb: 2\na: 3\n', 'c.yaml')).toThrow(
      'c.yaml:3:1: map keys must be unique',
    );
    // As one line for each mistake, without an excerpt of the file, which may hold secrets.
    expect(() => parseSettings('a: 1\na: canary\n', 'c.yaml')).toThrow(
      /^c\.yaml: 1 mistake\n {2}c\.yaml:2:1: map keys must be unique$/,
    );
  });

  it('finds a name that is given twice in any map, however it is written', () => {
    const text = 'a: { x: 1, "x": 2 }\nb:\n  - null: 1\n    ~: 2\n';
    expect(() => parseSettings(text, 'c.yaml')).toThrow(
      /^c\.yaml: 2 mistakes\n {2}c\.yaml:1:12: map keys must be unique\n {2}c\.yaml:4:5: map keys must be unique$/,
    );
    expect(parseSettings('a: { 1: x, x: 1 }\nb: { 1: x }\n', 'c.yaml')).toEqual({
      a: { 1: 'x', x: 1 },
      b: { 1: 'x' },
    });
  });

  it('takes two merges in one map', () => {
    const text = 'one: &one { x: 1 }\ntwo: &two { y: 2 }\nboth:\n  <<: *one\n  <<: *two\n';
    expect(parseSettings(text, 'c.yaml')).toMatchObject({ both: { x: 1, y: 2 } });
  });

  // If each name were compared with all others, this would outlast the limit of a test several times.
  it('reads a file of 50,000 names', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `name-${index}`);
    const text = names.map((name) => `${name}: 1\n`).join('');
    expect(Object.keys(parseSettings(text, 'c.yaml') ?? {})).toEqual(names);
  });

  it('takes an empty file as nothing', () => {
    expect(parseSettings('# only a comment\n', 'c.yaml')).toBeUndefined();
    expect(parseSettings('', 'c.yaml')).toBeUndefined();
  });

  it('merges anchors, and refuses unknown aliases and several documents', () => {
    expect(parseSettings('base: &b { x: 1 }\nnext: { <<: *b, y: 2 }', 'c.yaml')).toMatchObject({
      next: { x: 1, y: 2 },
    });
    expect(() => parseSettings('a: *nobody', 'c.yaml')).toThrow(/c\.yaml.*: unresolved alias/i);
    expect(() => parseSettings('a: 1\n---\nb: 2\n', 'c.yaml')).toThrow(
      'c.yaml holds several documents; one is expected',
    );
  });
});
