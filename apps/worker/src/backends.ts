import type { Catalog, Pool } from '@sluice/catalog';
import { type Backend, parseBackend } from '@sluice/engines';
import { ConfigError, type Environment, type Problem } from '@sluice/runtime';

/** What runs the generations of one pool. */
export interface PoolBackend {
  pool: Pool;
  backend: Backend;
}

/**
 * The backends of the pools that this worker serves; absent `wanted` serves all. Throws `ConfigError` with every
 * mistake in all of them.
 */
export function parseBackends(
  catalog: Catalog,
  wanted: readonly string[] | undefined,
  environment: Environment,
): PoolBackend[] {
  const problems: Problem[] = [];
  const result: PoolBackend[] = [];
  for (const name of wanted ?? catalog.pools.keys()) {
    const pool = catalog.pools.get(name);
    if (!pool) {
      problems.push({ path: 'SLUICE_POOLS', message: `there is no pool ${name}` });
      continue;
    }
    const parsed = parseBackend(pool.backend, `pools.${name}.backend`, environment);
    problems.push(...parsed.problems);
    if (parsed.backend) result.push({ pool, backend: parsed.backend });
  }
  if (problems.length > 0) throw new ConfigError('catalog', problems);
  return result;
}
