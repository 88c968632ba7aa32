import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Files that only assemble others, hold types, or serve the tests. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  shared: [
    'codec.ts',
    'command-line.ts',
    'golden-case.ts',
    'golden-run.ts',
    'index.ts',
    'registry.ts',
    'test-refusal.ts',
  ],
};
const assembling: readonly string[] = ['document.ts', 'index.ts'];

/**
 * The production files of a folder below `src`, relative to the package and without those that only assemble others.
 * `shared` means the files directly in `src`.
 */
export function sourcesOf(root: string, folder: string): string[] {
  const place = folder === 'shared' ? 'src' : `src/${folder}`;
  return readdirSync(join(root, place))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .filter((name) => !(leftOut[folder] ?? assembling).includes(name))
    .map((name) => `${place}/${name}`);
}
