export * from './awake-limit.ts';
export * from './clock.ts';
export * from './config-error.ts';
export * from './duration-histogram.ts';
export * from './environment.ts';
export * from './environment-values.ts';
export * from './fake-clock.ts';
export * from './lifecycle.ts';
export * from './listen-failure.ts';
export * from './log-error.ts';
export * from './logger.ts';
export {
  beginAtZero,
  type CounterOf,
  createRegistry,
  type DurationsOf,
  type GaugeOf,
  type RenderedMetrics,
  renderMetrics,
} from './metric-set.ts';
export * from './metrics.ts';
export * from './ops-ports.ts';
export * from './ops-server.ts';
export * from './overrides.ts';
export * from './process-pool.ts';
export * from './product-version.ts';
export { maskSecrets } from './secrets.ts';
export { settingNames } from './setting-names.ts';
export * from './settings-file.ts';
export * from './spelling.ts';
export * from './turn-batch.ts';
export * from './zod-problems.ts';
