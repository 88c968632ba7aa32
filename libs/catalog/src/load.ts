import { applyOverrides, type Environment, readSettingsFile } from '@sluice/runtime';
import { type Catalog, parseCatalog } from './catalog.ts';
import { catalogSpellings, defaultCatalogSettings } from './settings.ts';

/**
 * The catalogue of a process: the settings file (the built-in one where `path` is absent) with the
 * environment's overrides. Throws `ConfigError` with every mistake.
 */
export async function loadCatalog(path: string | undefined, environment: Environment): Promise<Catalog> {
  const file = path === undefined ? defaultCatalogSettings : await readSettingsFile(path);
  const { settings } = applyOverrides(file, environment, { spellings: catalogSpellings });
  return parseCatalog(settings);
}
