import { SluiceError } from '@sluice/canonical';

/**
 * One mistake in a configuration. `path` is an environment name, a dotted path, `file:line:column`, or '' for all of
 * it.
 */
export interface Problem {
  path: string;
  message: string;
}

/**
 * An unusable configuration, with every mistake in it. Its message lists them, one per line; a single mistake about the
 * whole configuration is a plain sentence.
 */
export class ConfigError extends SluiceError {
  readonly problems: readonly Problem[];

  /** `source` is what was read: the path of a file, or `environment`. */
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
