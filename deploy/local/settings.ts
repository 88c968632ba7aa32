import { defaultCatalogSettings } from '@sluice/catalog';

/** A model of a backend. */
export interface BackendModel {
  id: string;
  /** Absent: not known. */
  contextTokens?: number;
}

/** Settings that serve these models by a backend of their own, beside the simulated model. */
export function besideSimulated(pool: string, backend: object, served: readonly BackendModel[]): object {
  const { pools, models, aliases } = defaultCatalogSettings;
  const own = served.filter(({ id }) => !Object.hasOwn(models, id));
  const names = new Set(own.map(({ id }) => id));
  return {
    pools: { ...pools, [pool]: { backend } },
    models: { ...models, ...Object.fromEntries(own.map(({ id, ...facts }) => [id, { pool, ...facts }])) },
    aliases: Object.fromEntries(Object.entries(aliases).filter(([name]) => !names.has(name))),
  };
}
