import { basename } from 'node:path';
import type { RunResult } from '../measures/result.ts';

/** A trait that may tell runs of the same name apart. */
type Trait = (run: RunResult, file: string) => string;
/** The traits to try, the most telling first. */
const traits: readonly Trait[] = [
  (run) => run.scenario.target.replace(/^https?:\/\//, ''),
  (run) => [...new Set(run.scenario.traffic.map(({ model }) => model))].join('+'),
  (_, file) => basename(file),
  (_, file) => file,
];

/** The runs under distinct names: runs of the same name get a trait added that tells them apart. */
export function distinctNames(runs: readonly RunResult[], files: readonly string[]): RunResult[] {
  const numbered = runs.map((run, at) => ({ run, file: files[at] ?? '' }));
  const named = Map.groupBy(numbered, ({ run }) => run.name);
  return numbered.map((entry) => {
    const { run, file } = entry;
    const alike = named.get(run.name) ?? [];
    if (alike.length === 1) return run;
    const telling = traits.find(
      (trait) => new Set(alike.map((other) => trait(other.run, other.file))).size === alike.length,
    );
    const place = alike.indexOf(entry) + 1;
    return { ...run, name: `${run.name}, ${telling?.(run, file) ?? `#${place}`}` };
  });
}
