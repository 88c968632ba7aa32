import type { LoadedCatalog } from '@sluice/catalog';
import {
  assertOpsPorts,
  type Environment,
  parseEnvironment,
  parseTraceSettings,
  type TraceSampling,
} from '@sluice/runtime';
import { loadBackends, type PoolBackend } from './backends.ts';
import { type WorkerConfig, workerEnvironment } from './config.ts';

/** All that a worker is told. */
export interface WorkerSettings {
  config: WorkerConfig;
  catalog: LoadedCatalog;
  /** The pools that it serves. */
  backends: readonly PoolBackend[];
  /** Which traces are recorded; absent if none are. */
  traces?: TraceSampling;
  /** Sentences about what is legal but probably not intended. */
  warnings: readonly string[];
}

/** Reads the environment and the settings file, and opens nothing. Throws `ConfigError` with the mistakes. */
export async function loadSettings(environment: Environment): Promise<WorkerSettings> {
  const { values: config, warnings } = parseEnvironment(workerEnvironment, environment);
  const { SLUICE_OPS_HOST: host, SLUICE_OPS_PORT: first, SLUICE_PROCESSES, SLUICE_WORKER_ID } = config;
  // Under a supervisor, each process has got a port of its own.
  assertOpsPorts({ host, first, count: SLUICE_WORKER_ID === undefined ? SLUICE_PROCESSES : 1 });
  const { catalog, backends } = await loadBackends(config, environment);
  const traces = parseTraceSettings(environment);
  return {
    config,
    catalog,
    backends,
    warnings: [...warnings, ...traces.warnings, ...catalog.warnings],
    ...(traces.sampling && { traces: traces.sampling }),
  };
}
