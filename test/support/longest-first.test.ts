import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createVitest } from 'vitest/node';
import { longestClaim } from './longest-first.ts';
import { repository } from './repository.ts';

// Not within the texts: this file claims nothing.
const [soon, minutes, later] = ['5_000', '240_000', '300_000'];

test.each([
  ['a test by its last argument', `test('x', () => {\n  y();\n}, ${minutes});`, 240_000],
  ['a test by its options', `it('x', { timeout: ${minutes} }, () => {});`, 240_000],
  ['a whole file', `vi.setConfig({ testTimeout: ${minutes}, hookTimeout: ${later} });`, 240_000],
  ['nothing that counts', `it('x', { timeout: ${soon} }, () => {});\nafter(${later});`, 0],
  [
    'several things',
    `vi.setConfig({ testTimeout: ${minutes} });\nit('x', { timeout: ${later} }, y);`,
    300_000,
  ],
])('a file claims its time for %s', (_what, text, limitMs) => {
  expect(longestClaim(text)).toBe(limitMs);
});

test('the tests of this repository start with the files that claim most time, in each of their groups', async () => {
  const vitest = await createVitest('test', { root: repository, watch: false });
  try {
    const { sequencer: Sequencer } = vitest.config.sequence;
    const sorted = await new Sequencer(vitest).sort(await vitest.globTestSpecifications());
    const groups: number[][] = [];
    for (const [order, files] of Map.groupBy(sorted, ({ project }) => project.config.sequence.groupOrder)) {
      groups[order] = await Promise.all(
        files.map(async ({ moduleId }) => longestClaim(await readFile(moduleId, 'utf8'))),
      );
    }
    expect(groups.length).toBeGreaterThan(1);
    for (const group of groups) {
      expect(group[0]).toBeGreaterThan(60_000);
      expect(group).toEqual(group.toSorted((one, other) => other - one));
    }
  } finally {
    await vitest.close();
  }
});
