import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const assembling = ['index.ts', 'document.ts'];

/** The production files of a folder below `src`, relative to the package, but for those that only assemble. */
export function sourcesOf(root: string, folder: string): string[] {
  return readdirSync(join(root, 'src', folder))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !assembling.includes(name))
    .map((name) => `src/${folder}/${name}`);
}
