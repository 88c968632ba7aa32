import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MutantVerdict } from './test-mutants.ts';

const root = join(import.meta.dirname, '../..');
const reportFile = join(root, '../../reports/mutation.json');

/** The part of the tool's report that is read here. Lines and columns count from 1. */
interface Report {
  files: Record<
    string,
    {
      mutants: {
        status: string;
        replacement?: string;
        location: { start: { line: number; column: number } };
      }[];
    }
  >;
}

/** Shows mutants to every unit and property test, some seconds each; returns those that are noticed there. */
export function showToUnitTests(mutants: readonly MutantVerdict[]): MutantVerdict[] {
  if (mutants.length === 0) return [];
  const ranges = mutants.map(
    ({ file, line, column, end }) => `${file}:${line}:${column}-${end.line}:${end.column}`,
  );
  rmSync(reportFile, { force: true });
  const words = ['run', 'mutation/stryker.config.json', '--mutate', ranges.join(',')];
  spawnSync('stryker', words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (!existsSync(reportFile)) throw new TypeError('the mutation tool ended without a report');
  // The tool's own report of the run that has just ended.
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  const noticed = new Set<string>();
  for (const [file, { mutants: shown }] of Object.entries(report.files)) {
    for (const { status, replacement = '', location } of shown) {
      if (status !== 'Killed' && status !== 'Timeout') continue;
      noticed.add(`${file}:${location.start.line}:${location.start.column - 1} ${replacement}`);
    }
  }
  return mutants.filter(({ file, line, column, replacement }) =>
    noticed.has(`${file}:${line}:${column} ${replacement}`),
  );
}
