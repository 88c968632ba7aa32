import { ConfigError, type Problem } from './config-error.ts';
import { type Environment, overridePrefix } from './environment.ts';
import { bare } from './spelling.ts';
import { printPath } from './zod-problems.ts';

/** Settings after their overrides. */
export interface OverriddenSettings {
  settings: unknown;
  /** The dotted paths that the environment has set, in the order of the variables' names; for the log line at start. */
  applied: string[];
}

type Group = Record<string, unknown>;

/**
 * Applies overrides such as `SLUICE_SET__POOLS__SIM__BACKEND__SLOTS=8` to settings from a file. `__` separates the
 * segments of the path. A segment means the existing name that it equals but for case and punctuation (`WAIT_BUDGET_MS`
 * is `waitBudgetMs`), else one of `spellings`, else itself. Values are JSON, or else text; an empty one counts as
 * absent, as in `parseEnvironment`. The given settings are not changed. Throws `ConfigError` with every override that
 * leads nowhere.
 */
export function applyOverrides(
  settings: unknown,
  environment: Environment,
  { spellings = [] }: { spellings?: readonly string[] } = {},
): OverriddenSettings {
  const root: { settings: unknown } = { settings: structuredClone(settings) };
  const applied: string[] = [];
  const problems: Problem[] = [];
  for (const name of Object.keys(environment).sort()) {
    const text = environment[name];
    if (!name.startsWith(overridePrefix) || !text?.trim()) continue;
    const outcome = applyOne(
      root,
      name.slice(overridePrefix.length).split('__'),
      parseValue(text),
      spellings,
    );
    if ('message' in outcome) problems.push({ path: name, message: outcome.message });
    else applied.push(printPath(outcome.path));
  }
  if (problems.length > 0) throw new ConfigError('environment', problems);
  return { settings: root.settings, applied };
}

function applyOne(
  root: { settings: unknown },
  segments: string[],
  value: unknown,
  spellings: readonly string[],
): { path: PropertyKey[] } | { message: string } {
  if (segments.some((segment) => segment === '')) return { message: 'has an empty path segment' };
  root.settings ??= {};
  let current: unknown = root.settings;
  const path: PropertyKey[] = [];
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (!isContainer(current))
      return { message: `leads through ${printPath(path)}, which holds a plain value` };
    const found = Array.isArray(current)
      ? findIndex(current, segment)
      : findName(current, segment, spellings);
    if (typeof found === 'object') return found;
    path.push(found);
    if (isLast) define(current, found, value);
    else if (Reflect.get(current, found) == null || !Object.hasOwn(current, found))
      define(current, found, {});
    current = Reflect.get(current, found);
  }
  return { path };
}

function findName(group: Group, segment: string, spellings: readonly string[]): string | { message: string } {
  if (Object.hasOwn(group, segment)) return segment;
  const matches = Object.keys(group).filter((name) => bare(name) === bare(segment));
  if (matches.length > 1) return { message: `${segment} could mean ${matches.join(' or ')}` };
  const spelt = matches[0] ?? spellings.find((name) => bare(name) === bare(segment));
  // Variables are written in upper case, names in settings are not.
  return spelt ?? (segment === segment.toUpperCase() ? segment.toLowerCase() : segment);
}

function findIndex(items: readonly unknown[], segment: string): number | { message: string } {
  const index = /^\d+$/.test(segment) ? Number(segment) : Number.NaN;
  if (index <= items.length) return index;
  return { message: `${segment} is not a position in a list of ${items.length}` };
}

/** Defines the property instead of assigning it, so that `__proto__` or `constructor` are names like any other. */
function define(container: Group | unknown[], name: string | number, value: unknown): void {
  Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

function isContainer(value: unknown): value is Group | unknown[] {
  return typeof value === 'object' && value !== null;
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
