import { SluiceError } from '@sluice/canonical';

/** One mistake in a configuration. `path` is an environment name, a dotted path or `file:line:column`, '' all of it. */
export interface Problem {
  path: string;
  message: string;
}

/**
 * A configuration that can't be used, with every mistake in it. Its message lists them, one per line, but for the one
 * that stands for the whole of it.
 */
export class ConfigError extends SluiceError {
  readonly problems: readonly Problem[];

  /** `source` says what was read: a file's path, `environment`. */
  constructor(source: string, problems: readonly Problem[]) {
    super('internal', describeProblems(source, problems));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

function describeProblems(source: string, problems: readonly Problem[]): string {
  const [first] = problems;
  if (problems.length === 1 && first?.path === '') return `${source} ${first.message}`;
  const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`;
  const lines = problems.map(({ path, message }) => (path === '' ? `  ${message}` : `  ${path}: ${message}`));
  return [`${source}: ${count}`, ...lines].join('\n');
}
