import { type Problem, printPath, spellingHint } from '@sluice/runtime';
import { checkNames } from './names.ts';

/** What is wrong with a catalogue's names, and what is legal but probably not intended. */
export interface Mistakes {
  problems: Problem[];
  warnings: string[];
}

type Group = Readonly<Record<string, unknown>>;

/**
 * Finds illegal names, models whose pool or fallback is missing, aliases that lead to nothing and circles of aliases, and warns of
 * what can never be reached. It looks at names only, so the shape of the rest doesn't matter.
 */
export function findMistakes(raw: unknown): Mistakes {
  const root = groupOf(raw);
  const pools = groupOf(root.pools);
  const models = groupOf(root.models);
  const aliases = groupOf(root.aliases);
  return {
    problems: [
      ...checkNames('pools', Object.keys(pools)),
      ...checkNames('models', Object.keys(models)),
      ...checkNames('aliases', Object.keys(aliases)),
      ...missingPools(models, pools),
      ...brokenFallbacks(models),
      ...brokenAliases(aliases, models),
    ],
    warnings: [
      ...unusedPools(pools, models),
      ...impossibleLimits(models),
      ...shadowedAliases(aliases, models),
    ],
  };
}

/** The backends that name an engine, with their places. The shape of the rest doesn't matter. */
export function backendsOf(raw: unknown): { pool: string; backend: Group; path: string }[] {
  return Object.entries(groupOf(groupOf(raw).pools)).flatMap(([pool, settings]) => {
    const backend = groupOf(groupOf(settings).backend);
    // The schema already reports a backend without an engine.
    if (typeof backend.engine !== 'string' || backend.engine === '') return [];
    return [{ pool, backend, path: printPath(['pools', pool, 'backend']) }];
  });
}

function missingPools(models: Group, pools: Group): Problem[] {
  return Object.entries(models).flatMap(([id, model]) => {
    const { pool } = groupOf(model);
    if (typeof pool !== 'string' || Object.hasOwn(pools, pool)) return [];
    const message = `there is no pool ${JSON.stringify(pool)}${spellingHint(pool, Object.keys(pools))}`;
    return [{ path: printPath(['models', id, 'pool']), message }];
  });
}

function brokenFallbacks(models: Group): Problem[] {
  return Object.entries(models).flatMap(([id, model]) => {
    const { fallbacks } = groupOf(model);
    if (!Array.isArray(fallbacks)) return [];
    return fallbacks.flatMap((name: unknown, index) => {
      const message =
        typeof name === 'string'
          ? fallbackFault(name, id, fallbacks.indexOf(name) < index, models)
          : undefined;
      return message === undefined ? [] : [{ path: printPath(['models', id, 'fallbacks', index]), message }];
    });
  });
}

function fallbackFault(name: string, id: string, isRepeated: boolean, models: Group): string | undefined {
  if (name === id) return 'is the model itself';
  if (isRepeated) return 'is there twice';
  if (Object.hasOwn(models, name)) return undefined;
  const others = Object.keys(models).filter((other) => other !== id);
  return `there is no model ${JSON.stringify(name)}${spellingHint(name, others)}`;
}

function brokenAliases(aliases: Group, models: Group): Problem[] {
  const names = [...Object.keys(models), ...Object.keys(aliases).filter((name) => !name.includes('*'))];
  return Object.entries(aliases).flatMap(([alias, target]) => {
    if (typeof target !== 'string') return [];
    const path = printPath(['aliases', alias]);
    if (!Object.hasOwn(models, target) && !Object.hasOwn(aliases, target)) {
      const others = names.filter((name) => name !== alias);
      return [
        {
          path,
          message: `there is no model or alias ${JSON.stringify(target)}${spellingHint(target, others)}`,
        },
      ];
    }
    const cycle = cycleFrom(alias, aliases, models);
    return cycle ? [{ path, message: `leads in a circle: ${cycle.join(' → ')}` }] : [];
  });
}

/** The names from this alias back to itself; absent if it isn't part of a circle. */
function cycleFrom(alias: string, aliases: Group, models: Group): string[] | undefined {
  const way = [alias];
  for (
    let name = aliases[alias];
    typeof name === 'string' && !Object.hasOwn(models, name);
    name = aliases[name]
  ) {
    if (name === alias) return [...way, name];
    if (way.includes(name) || !Object.hasOwn(aliases, name)) return undefined;
    way.push(name);
  }
  return undefined;
}

function unusedPools(pools: Group, models: Group): string[] {
  if (Object.keys(models).length === 0)
    return ['models: the catalogue has no model, every request will be refused'];
  const used = new Set(Object.values(models).map((model) => groupOf(model).pool));
  return Object.keys(pools)
    .filter((name) => !used.has(name))
    .map((name) => `${printPath(['pools', name])}: no model is served by this pool`);
}

function impossibleLimits(models: Group): string[] {
  return Object.entries(models).flatMap(([id, model]) => {
    const { contextTokens, maxOutputTokens } = groupOf(model);
    if (typeof contextTokens !== 'number' || typeof maxOutputTokens !== 'number') return [];
    if (maxOutputTokens <= contextTokens) return [];
    return [`${printPath(['models', id, 'maxOutputTokens'])}: is more than the model's contextTokens`];
  });
}

function shadowedAliases(aliases: Group, models: Group): string[] {
  return Object.keys(aliases)
    .filter((alias) => Object.hasOwn(models, alias))
    .map((alias) => `${printPath(['aliases', alias])}: has the name of a model, which wins`);
}

/** The model that an alias finally leads to, through other aliases; absent if it leads nowhere. */
export function followAlias<Target>(
  alias: string,
  aliases: Readonly<Record<string, string>>,
  models: ReadonlyMap<string, Target>,
): Target | undefined {
  const passed = new Set<string>();
  for (let name = aliases[alias]; name !== undefined && !passed.has(name); name = aliases[name]) {
    const model = models.get(name);
    if (model) return model;
    passed.add(name);
  }
  return undefined;
}

function groupOf(value: unknown): Group {
  // Safe to cast: a plain object is a record of unknown values. Anything else has no names that could be referred to.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Group) : {};
}
