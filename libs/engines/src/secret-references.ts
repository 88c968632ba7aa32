import { isJsonObject } from '@sluice/canonical';
import { type Environment, type Problem, printPath } from '@sluice/runtime';

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Copies a configuration and replaces every `{ env: "NAME" }` by the value of that variable, so that secrets need not
 * be in files. A missing or empty variable is added to `problems`.
 */
export function resolveSecretReferences(
  value: unknown,
  path: string,
  environment: Environment,
  problems: Problem[],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      resolveSecretReferences(item, printPath([index], path), environment, problems),
    );
  }
  if (!isJsonObject(value)) return value;
  const variable = variableIn(value);
  if (variable === undefined) {
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      resolveSecretReferences(item, printPath([name], path), environment, problems),
    ]);
    return Object.fromEntries(entries);
  }
  const content = environment[variable];
  // A placeholder for the missing value, so that the schema sees a string there.
  if (!content) problems.push({ path, message: `the environment variable ${variable} is not set` });
  return content || 'unset';
}

function variableIn(value: Record<string, unknown>): string | undefined {
  const { env, ...rest } = value;
  if (typeof env !== 'string' || Object.keys(rest).length > 0) return undefined;
  return variableName.test(env) ? env : undefined;
}
