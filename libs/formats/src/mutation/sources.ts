import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

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

/** The files anywhere in a folder below `src`, relative to the package. `shared` means the files directly in `src`. */
export function filesOf(root: string, folder: string): string[] {
  const isShared = folder === 'shared';
  const place = isShared ? 'src' : `src/${folder}`;
  const names = readdirSync(join(root, place), { recursive: !isShared, encoding: 'utf8' });
  return names.map((name) => `${place}/${name}`);
}

/** Those of them that are production code and do not only assemble others. */
export function sourcesOf(root: string, folder: string): string[] {
  return filesOf(root, folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => !(leftOut[folder] ?? assembling).includes(basename(file)));
}
