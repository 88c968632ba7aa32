import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError, type Problem } from './config-error.ts';
import { settingNames } from './setting-names.ts';
import { nearestSpelling } from './spelling.ts';
import { problemsOf } from './zod-problems.ts';

/** An environment in the form of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings that an environment holds. */
export interface ParsedEnvironment<Values> {
  values: Values;
  /** Sentences about names that start with `SLUICE_` and that no process reads. */
  warnings: string[];
}

/** Prefix of overrides of the settings file. `applyOverrides` checks such names, so they are never unknown here. */
export const overridePrefix = 'SLUICE_SET__';

const prefix = 'SLUICE_';

/**
 * Reads flat settings, by a schema whose keys are names of the environment. An empty value counts as absent, because
 * compose files write absent values so. A secret may be in a file that `NAME_FILE` points to, because orchestrators
 * mount secrets so. Throws `ConfigError` with all mistakes; names that no process of ours reads become warnings.
 */
export function parseEnvironment<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Environment,
): ParsedEnvironment<z.output<z.ZodObject<Shape>>> {
  const names = Object.keys(schema.shape);
  const given = new Map<string, string>();
  for (const name of names) {
    const value = environment[name]?.trim();
    if (value) given.set(name, value);
  }
  const fileNames = [...secretNamesOf(schema)].map((name) => `${name}_FILE`);
  const fileProblems = readSecretFiles(fileNames, environment, given);
  const raw = Object.fromEntries(given);
  const result = schema.safeParse(raw);
  const problems = [...(result.success ? [] : problemsOf(result.error, raw)), ...fileProblems];
  if (!result.success || problems.length > 0) throw new ConfigError('environment', sortBy(names, problems));
  return {
    values: result.data,
    warnings: unknownNames(environment, [...names, ...fileNames, ...settingNames]),
  };
}

function readSecretFiles(
  fileNames: readonly string[],
  environment: Environment,
  given: Map<string, string>,
): Problem[] {
  const problems: Problem[] = [];
  for (const fileName of fileNames) {
    const path = environment[fileName]?.trim();
    if (!path) continue;
    const name = fileName.slice(0, -'_FILE'.length);
    if (given.has(name))
      problems.push({ path: fileName, message: `is given beside ${name}; one of them is enough` });
    try {
      given.set(name, readFileSync(path, 'utf8').trim());
    } catch {
      problems.push({ path: fileName, message: `points to ${path}, which is not readable` });
    }
  }
  return problems;
}

function sortBy(names: readonly string[], problems: Problem[]): Problem[] {
  return problems.sort((left, right) => names.indexOf(left.path) - names.indexOf(right.path));
}

function unknownNames(environment: Environment, known: readonly string[]): string[] {
  const isKnown = new Set(known);
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !name.startsWith(overridePrefix) && !isKnown.has(name))
    .sort()
    .map((name) => {
      const nearest = nearestSpelling(
        name.slice(prefix.length),
        known.map((candidate) => candidate.slice(prefix.length)),
      );
      return `${name} is not a setting${nearest === undefined ? '' : `; did you mean ${prefix}${nearest}?`}`;
    });
}

/** A row of the configuration table. `defaultValue` is absent if the setting is required or unset by default. */
export interface SettingDescription {
  name: string;
  type: string;
  isRequired: boolean;
  defaultValue?: string;
  description: string;
}

/** Describes the settings of a schema, in its order, by their types, defaults and `describe` texts. */
export function describeEnvironment(schema: z.ZodObject): SettingDescription[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const json: z.core.JSONSchema.BaseSchema = z.toJSONSchema(field as z.ZodType, {
      io: 'output',
      unrepresentable: 'any',
    });
    const isRequired = !(field as z.ZodType).safeParse(undefined).success;
    // An empty list prints as nothing, like an unset default, and means the same.
    const defaultValue = json.default === undefined ? '' : String(json.default);
    return {
      name,
      type: describeType(json),
      isRequired,
      ...(defaultValue !== '' && { defaultValue }),
      description: json.description ?? '',
    };
  });
}

/** The names of a schema that were declared with `secretText`. */
export function secretNamesOf(schema: z.ZodObject): ReadonlySet<string> {
  return new Set(Object.keys(schema.shape).filter((name) => isSecretField(schema.shape[name])));
}

function isSecretField(field: unknown): boolean {
  return field instanceof z.ZodType && z.toJSONSchema(field, { unrepresentable: 'any' }).isSecret === true;
}

function describeType(json: z.core.JSONSchema.BaseSchema): string {
  if (json.enum) return json.enum.map(String).join(' | ');
  if (json.type === 'integer' || json.type === 'number') {
    const unit = json.type === 'integer' ? 'whole number' : 'number';
    const { minimum, maximum } = json;
    const isOpen = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER;
    if (minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER)
      return isOpen ? unit : `${unit} ≤ ${maximum}`;
    return isOpen ? `${unit} ≥ ${minimum}` : `${unit} ${minimum}–${maximum}`;
  }
  if (json.type === 'array') return 'list, comma between';
  if (typeof json.minLength === 'number') return `text of ${json.minLength} or more characters`;
  return 'text';
}
