import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { sourcesOf } from './sources.ts';

/** One small fault that could be in the sources. */
export interface Mutant {
  id: string;
  /** Relative to the package. */
  file: string;
  /** Counted from 1. */
  line: number;
  mutator: string;
  replacement: string;
  /**
   * The reason in a source comment why no test can tell the mutant from the original; absent if there is no such
   * comment.
   */
  excuse?: string;
}

const root = join(import.meta.dirname, '../..');
const place = join(root, '../../.stryker-tmp');
const defaultExcuse = 'Ignored using a comment';
const silent = () => undefined;
const logger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/**
 * Copies the package with every mutant of a folder inactive behind a switch. Returns the mutants and the script that
 * decides them. `only` limits the files to these names; empty means all.
 */
export async function createSandbox(
  folder: string,
  only: readonly string[],
): Promise<{ mutants: Mutant[]; script: string }> {
  const sandbox = join(place, folder);
  rmSync(sandbox, { recursive: true, force: true });
  mkdirSync(sandbox, { recursive: true });
  cpSync(join(root, 'src'), join(sandbox, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(sandbox, 'package.json'));
  for (const name of ['golden', 'corpus']) symlinkSync(join(root, name), join(sandbox, name));
  const files = sourcesOf(root, folder)
    .filter((name) => only.length === 0 || only.some((wanted) => name.endsWith(`/${wanted}`)))
    .map((name) => {
      return { name: join(sandbox, name), mutate: true, content: readFileSync(join(root, name), 'utf8') };
    });
  const options = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false };
  const result = await new Instrumenter(logger).instrument(files, options);
  for (const { name, content } of result.files) writeFileSync(name, content);
  const mutants = result.mutants.map(
    ({ id, fileName, location, mutatorName, replacement, statusReason }): Mutant => ({
      id,
      file: fileName.slice(sandbox.length + 1),
      line: location.start.line + 1,
      mutator: mutatorName,
      replacement,
      ...(statusReason !== undefined && { excuse: statusReason }),
    }),
  );
  const unexplained = mutants.find(({ excuse }) => excuse === defaultExcuse);
  if (unexplained)
    throw new TypeError(`${unexplained.file}:${unexplained.line} is left out without a reason`);
  return { mutants, script: join(sandbox, 'src/mutation/child.ts') };
}
