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
