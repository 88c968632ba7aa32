import { ConfigError, checkSettings, type Problem } from '@sluice/runtime';
import { backendsOf, findMistakes, followAlias } from './references.ts';
import { NameResolver } from './resolve.ts';
import { type CatalogSettings, catalogSettings } from './settings.ts';

/** A set of models served by the same backend, behind one queue. */
export interface Pool {
  name: string;
  /** The engine's name and its own options, which the engine validates. */
  backend: Readonly<Record<string, unknown>> & { readonly engine: string };
  /** The longest expected wait for a slot; a request that would wait longer is refused. */
  waitBudgetMs: number;
  /** The most requests that may wait; absent means that the wait budget alone decides. */
  maxWaiting?: number;
}

/** A public model. */
export interface Model {
  id: string;
  pool: string;
  /** Its name at the backend; the id if the settings name none. */
  backendModel: string;
  /** The id if the settings name none. */
  displayName: string;
  /** Epoch milliseconds; 0 if the settings name none. */
  createdAt: number;
  /** Largest prompt plus answer in tokens; absent means not known. */
  contextTokens?: number;
  /** Largest answer in tokens; absent means not known. */
  maxOutputTokens?: number;
  /** Ids of the models that answer instead, in this order, where this one gives no answer. */
  fallbacks: readonly string[];
  /** The limit from arrival to the end of the answer; absent means the ingress's default. */
  requestTimeoutMs?: number;
}

/** A model as model lists show it. */
export interface ListedModel {
  id: string;
  displayName: string;
  /** Epoch milliseconds. */
  createdAt: number;
  contextTokens?: number;
  maxOutputTokens?: number;
}

/** Which pool serves which public name. It never changes after parsing. */
export interface Catalog {
  readonly pools: ReadonlyMap<string, Pool>;
  readonly models: ReadonlyMap<string, Model>;
  /** Models by their other names, patterns excluded. */
  readonly aliases: ReadonlyMap<string, Model>;
  /** Sentences about settings that are legal but probably not intended. */
  readonly warnings: readonly string[];
  /**
   * The model that a client means: the one with that id, else with that alias, else the one whose alias pattern matches
   * with the longest literal part (the first in the file among equals). Absent when there is none.
   */
  resolve(name: string): Model | undefined;
}

/** Finds the mistakes in a pool's backend, which only someone who knows its engine can see. `path` is its place. */
export type CheckBackend = (backend: unknown, path: string, pool: string) => Problem[];

/** How `parseCatalog` reports mistakes and checks backends. */
export interface ParseOptions {
  /** Where the settings come from, for the message about mistakes in them. Default: `settings`. */
  source?: string;
  /** Default: the engines' options are taken as they are. */
  checkBackend?: CheckBackend | undefined;
}

/** Parses a catalogue's settings. Throws `ConfigError` with every mistake in them, by path. */
export function parseCatalog(
  raw: unknown,
  { source = 'settings', checkBackend = () => [] }: ParseOptions = {},
): Catalog {
  const { value: settings, problems } = checkSettings(catalogSettings, raw);
  // References are checked even if the shape is wrong, so that one start shows all mistakes.
  const { problems: mistakes, warnings } = findMistakes(raw);
  mistakes.push(...backendsOf(raw).flatMap(({ pool, backend, path }) => checkBackend(backend, path, pool)));
  if (!settings || mistakes.length > 0) throw new ConfigError(source, [...problems, ...mistakes]);
  return createCatalog(settings, warnings);
}

/**
 * The models that a list shows to a caller, in the order of the settings: every model whose name the caller may use,
 * and every alias that the caller may use while its model's own name is not allowed. Such a caller could not find the
 * model otherwise.
 */
export function toPublicModels(
  { models, aliases }: Catalog,
  allows: (name: string) => boolean,
): ListedModel[] {
  const named = [...models.values()].filter(({ id }) => allows(id)).map((model) => toPublicModel(model));
  const others = [...aliases].filter(([name, { id }]) => allows(name) && !allows(id));
  return [...named, ...others.map(([name, model]) => toPublicModel(model, name))];
}

/** A model under the name that the caller knows, by default its own. */
export function toPublicModel(model: Model, id = model.id): ListedModel {
  const { displayName, createdAt, contextTokens, maxOutputTokens } = model;
  return {
    id,
    displayName,
    createdAt,
    ...(contextTokens !== undefined && { contextTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
}

function createCatalog(settings: CatalogSettings, warnings: string[]): Catalog {
  const models = createModels(settings);
  const targets = followAliases(settings, models);
  const resolver = new NameResolver(models, targets);
  return {
    pools: createPools(settings),
    models,
    aliases: new Map([...targets].filter(([name]) => !name.includes('*') && !models.has(name))),
    warnings,
    resolve: (name) => resolver.resolve(name),
  };
}

function createModels(settings: CatalogSettings): Map<string, Model> {
  const models = new Map<string, Model>();
  for (const [id, { createdAt, ...rest }] of Object.entries(settings.models)) {
    const {
      backendModel = id,
      displayName = id,
      pool,
      contextTokens,
      maxOutputTokens,
      requestTimeoutMs,
      fallbacks,
    } = rest;
    models.set(id, {
      id,
      pool,
      backendModel,
      displayName,
      createdAt: createdAt === undefined ? 0 : new Date(createdAt).getTime(),
      fallbacks,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    });
  }
  return models;
}

function createPools(settings: CatalogSettings): Map<string, Pool> {
  const pools = new Map<string, Pool>();
  for (const [name, { backend, waitBudgetMs, maxWaiting }] of Object.entries(settings.pools)) {
    pools.set(name, {
      name,
      backend,
      waitBudgetMs,
      ...(maxWaiting !== undefined && { maxWaiting }),
    });
  }
  return pools;
}

/** The model behind each alias, patterns included. */
function followAliases({ aliases }: CatalogSettings, models: ReadonlyMap<string, Model>): Map<string, Model> {
  const targets = new Map<string, Model>();
  for (const name of Object.keys(aliases)) {
    const target = followAlias(name, aliases, models);
    if (target) targets.set(name, target);
  }
  return targets;
}
