import { applyOverrides, ConfigError, type Environment, namesIn, readSettingsFile } from '@sluice/runtime';
import { type Catalog, type CheckBackend, parseCatalog } from './catalog.ts';
import { catalogSettings, defaultCatalogSettings } from './settings.ts';

/** A catalogue, with the settings that the environment has changed. */
export interface LoadedCatalog extends Catalog {
  /** Dotted paths of the settings that the environment has set. */
  readonly overridden: readonly string[];
}

/** What a process that runs the engines knows of their options. */
export interface BackendRules {
  check: CheckBackend;
  /** How the options are spelt, for overrides that add one which the file does not have. */
  spellings: readonly string[];
}

/**
 * Loads a process's catalogue: the settings file (the built-in one if `path` is absent) with overrides from the
 * environment. Throws `ConfigError` with every mistake, also in backends if their rules are given.
 */
export async function loadCatalog(
  path: string | undefined,
  environment: Environment,
  backends?: BackendRules,
): Promise<LoadedCatalog> {
  const file = path === undefined ? defaultCatalogSettings : await readSettingsFile(path);
  const spellings = [...namesIn(catalogSettings), ...(backends?.spellings ?? [])];
  const { settings, applied } = applyOverrides(file, environment, { spellings });
  if (path !== undefined && settings === undefined) {
    throw new ConfigError(path, [{ path: '', message: 'is empty; pools and models are expected' }]);
  }
  const source = sourceOf(path, applied.length > 0);
  return { ...parseCatalog(settings, { source, checkBackend: backends?.check }), overridden: applied };
}

/** Names what a mistake is in. A value that the environment has set is not in the file, so nobody would find it there. */
function sourceOf(path: string | undefined, isChanged: boolean): string {
  if (path === undefined) return 'the built-in settings as the environment changes them';
  return isChanged ? `${path} as SLUICE_SET__… changes it` : path;
}
