import { SluiceError } from '@sluice/canonical';

/** One mistake in a configuration. `path` is an environment name, a dotted path or `file:line:column`. */
export interface Problem {
  path: string;
  message: string;
}

/** A configuration that can't be used, with every mistake in it. Its message lists them, one per line. */
export class ConfigError extends SluiceError {
  readonly problems: readonly Problem[];

  /** `source` says what was read: a file's path, `environment`, `catalog`. */
  constructor(source: string, problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`;
    super('internal', `${source}: ${count}\n${printProblems(problems)}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** One line per mistake: `  path: what is wrong`. */
function printProblems(problems: readonly Problem[]): string {
  return problems
    .map(({ path, message }) => (path === '' ? `  ${message}` : `  ${path}: ${message}`))
    .join('\n');
}
