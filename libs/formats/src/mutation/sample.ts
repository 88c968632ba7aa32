import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../corpus/random.ts';

/** The production files of a folder below `src`, relative to the package. */
export function sourcesOf(root: string, folder: string): string[] {
  return readdirSync(join(root, 'src', folder))
    .filter(
      (name) =>
        name.endsWith('.ts') && !name.endsWith('.test.ts') && !['index.ts', 'document.ts'].includes(name),
    )
    .map((name) => `src/${folder}/${name}`);
}

/**
 * So many lines of code of these files, the same for the same seed, as ranges that the mutation tool takes.
 * Mutants that reach over several lines are not in a sample.
 */
export function sampleLines(root: string, files: readonly string[], count: number, seed: number): string[] {
  const random = new Random(seed);
  const lines = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (isCode(line) ? [`${file}:${index + 1}-${index + 1}`] : [])),
  );
  const chosen = new Set<string>();
  while (chosen.size < Math.min(count, lines.length)) chosen.add(random.pick(lines));
  return [...chosen].sort();
}

/** Lines that only name, type or import something hold nothing to mutate. */
function isCode(line: string): boolean {
  return !/^\s*(?:$|\/\/|\/?\*|import |export \* |\} from |type |interface |[\w, ]+,$|[)}\]]+[;,)]*$)/.test(
    line,
  );
}
