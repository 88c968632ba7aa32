import { type CheckBackend, type LoadedCatalog, loadCatalog, type Pool } from '@sluice/catalog';
import { type Backend, optionNames, parseBackend } from '@sluice/engines';
import { ConfigError, type Environment, spellingHint } from '@sluice/runtime';
import type { WorkerConfig } from './config.ts';

/** A pool with the backend that runs its generations. */
export interface PoolBackend {
  pool: Pool;
  backend: Backend;
}

/**
 * Reads the settings file and the backends of the pools that this worker serves, which without `SLUICE_POOLS` are all.
 * Throws `ConfigError` with all mistakes in the file, or with all wanted pools that it does not have.
 */
export async function loadBackends(
  { SLUICE_CONFIG: path, SLUICE_POOLS: wanted }: Pick<WorkerConfig, 'SLUICE_CONFIG' | 'SLUICE_POOLS'>,
  environment: Environment,
): Promise<{ catalog: LoadedCatalog; backends: PoolBackend[] }> {
  const backends = new Map<string, Backend>();
  const check: CheckBackend = (raw, place, pool) => {
    // The environment need not hold what the engines of other workers' pools want.
    if (wanted && !wanted.includes(pool)) return [];
    const { backend, problems } = parseBackend(raw, place, environment);
    if (backend) backends.set(pool, backend);
    return problems;
  };
  const catalog = await loadCatalog(path, environment, { check, spellings: optionNames() });
  const known = [...catalog.pools.keys()];
  const problems = (wanted ?? [])
    .filter((name) => !catalog.pools.has(name))
    .map((name) => ({
      path: 'SLUICE_POOLS',
      message: `there is no pool ${JSON.stringify(name)}${spellingHint(name, known)}`,
    }));
  if (problems.length > 0) throw new ConfigError('environment', problems);
  const served = [...catalog.pools.values()].flatMap((pool) => {
    const backend = backends.get(pool.name);
    return backend ? [{ pool, backend }] : [];
  });
  return { catalog, backends: served };
}
