import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { formats } from '../registry.ts';

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

/** Folders below `src` that hold no codecs. */
const tools: readonly string[] = ['bench', 'compatibility', 'corpus', 'matrix', 'mutation'];

/**
 * The files anywhere in a folder below `src`, relative to the package. `shared` means those that belong neither to a
 * format nor to the tools.
 */
export function filesOf(root: string, folder: string): string[] {
  if (folder !== 'shared') return filesIn(root, `src/${folder}`);
  const others = [...tools, ...formats.map(({ server }) => server.format)].map((other) => `src/${other}/`);
  return filesIn(root, 'src').filter((file) => !others.some((other) => file.startsWith(other)));
}

function filesIn(root: string, place: string): string[] {
  return readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${place}/${name}`,
  );
}

/** Those of them that are production code and do not only assemble others. */
export function sourcesOf(root: string, folder: string): string[] {
  return filesOf(root, folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => !(leftOut[folder] ?? assembling).includes(basename(file)));
}
