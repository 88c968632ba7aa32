import { applyOverrides, ConfigError, type Environment, readSettingsFile } from '@sluice/runtime';
import { type Catalog, type CheckBackend, parseCatalog } from './catalog.ts';
import { catalogSpellings, defaultCatalogSettings } from './settings.ts';

/** A catalogue, with the settings that the environment has changed. */
export interface LoadedCatalog extends Catalog {
  /** Dotted paths of the settings that the environment has set. */
  readonly overridden: readonly string[];
}

/**
 * Loads a process's catalogue: the settings file (the built-in one if `path` is absent) with overrides from the
 * environment. Throws `ConfigError` with every mistake, including those that `checkBackend` finds.
 */
export async function loadCatalog(
  path: string | undefined,
  environment: Environment,
  checkBackend?: CheckBackend,
): Promise<LoadedCatalog> {
  const file = path === undefined ? defaultCatalogSettings : await readSettingsFile(path);
  const { settings, applied } = applyOverrides(file, environment, { spellings: catalogSpellings });
  if (path !== undefined && settings === undefined) {
    throw new ConfigError(path, [{ path: '', message: 'is empty; pools and models are expected' }]);
  }
  const source = path ?? 'the built-in settings as the environment changes them';
  return { ...parseCatalog(settings, { source, checkBackend }), overridden: applied };
}
