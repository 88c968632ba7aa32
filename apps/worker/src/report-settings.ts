import { reportCatalog } from '@sluice/catalog';
import type { Environment } from '@sluice/runtime';
import { loadSettings } from './settings.ts';

/** Tells the operator that the settings of a worker are valid. Throws `ConfigError` with the mistakes if they are not. */
export async function reportSettings(environment: Environment): Promise<void> {
  const { catalog, backends, warnings } = await loadSettings(environment);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  const served = backends.map(({ pool }) => pool.name).join(', ');
  process.stdout.write(`sluice worker: valid settings: ${reportCatalog(catalog)}; serves ${served}\n`);
}
