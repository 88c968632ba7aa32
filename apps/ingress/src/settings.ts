import { type LoadedCatalog, loadCatalog } from '@sluice/catalog';
import {
  assertOpsPorts,
  type Environment,
  parseEnvironment,
  parseTraceSettings,
  type TraceSampling,
} from '@sluice/runtime';
import { type IngressConfig, ingressEnvironment, portsOf } from './config.ts';

/** All that an ingress is told. */
export interface IngressSettings {
  config: IngressConfig;
  catalog: LoadedCatalog;
  /** Which traces are recorded; absent if none are. */
  traces?: TraceSampling;
  /** Sentences about what is legal but probably not intended. */
  warnings: readonly string[];
}

/** Reads the environment and the settings file, and opens nothing. Throws `ConfigError` with the mistakes. */
export async function loadSettings(environment: Environment): Promise<IngressSettings> {
  const { values: config, warnings } = parseEnvironment(ingressEnvironment, environment);
  const { operations, api } = portsOf(config);
  // Under a supervisor, each process has got a port of its own.
  const isOneOfSeveral = config.SLUICE_PROCESS_SEAT !== undefined;
  assertOpsPorts({ ...operations, ...(isOneOfSeveral && { count: 1 }) }, api);
  const catalog = await loadCatalog(config.SLUICE_CONFIG, environment);
  const traces = parseTraceSettings(environment);
  return {
    config,
    catalog,
    warnings: [...warnings, ...traces.warnings, ...catalog.warnings],
    ...(traces.sampling && { traces: traces.sampling }),
  };
}
