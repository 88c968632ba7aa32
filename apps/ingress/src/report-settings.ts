import { reportCatalog } from '@sluice/catalog';
import type { Environment } from '@sluice/runtime';
import { loadSettings } from './settings.ts';

/**
 * Tells the operator that the settings of an ingress are valid, and that these are not all: which options a backend has
 * is known to workers alone. Throws `ConfigError` with the mistakes if they are not.
 */
export async function reportSettings(environment: Environment): Promise<void> {
  const { catalog, warnings } = await loadSettings(environment);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write(
    `sluice ingress: valid settings: ${reportCatalog(catalog)}; backends are checked by workers\n`,
  );
}
