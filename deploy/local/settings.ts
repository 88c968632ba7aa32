import { defaultCatalogSettings } from '@sluice/catalog';

/** Settings that serve these models by a backend of their own beside the simulated one. */
export function besideSimulated(pool: string, backend: object, names: readonly string[]): object {
  const { pools, models, aliases } = defaultCatalogSettings;
  const served = names.filter((name) => !Object.hasOwn(models, name));
  return {
    pools: { ...pools, [pool]: { backend } },
    models: { ...models, ...Object.fromEntries(served.map((name) => [name, { pool }])) },
    aliases: Object.fromEntries(Object.entries(aliases).filter(([name]) => !served.includes(name))),
  };
}
