export * from './after-turn.ts';
export * from './awake-limit.ts';
export * from './background-threads.ts';
export { type Clock, steadyNow, systemClock, type Timer } from './clock.ts';
export * from './config-error.ts';
export type { DurationSeries } from './duration-histogram.ts';
export { encodeLarge } from './encode-large.ts';
export * from './environment.ts';
export * from './environment-values.ts';
export * from './fake-clock.ts';
export * from './heap-limit.ts';
export * from './lifecycle.ts';
export * from './listen-failure.ts';
export * from './logger.ts';
export { beginAtZero, createRegistry, renderMetrics } from './metric-set.ts';
export {
  type AttemptReason,
  createIngressMetrics,
  createWorkerMetrics,
  type DroppedFrameReason,
  describeMetrics,
  type IngressMetrics,
  type MediaFetchOutcome,
  type MetricDescription,
  type Outcome,
  outcomes,
  type ResendReason,
  type WorkerMetrics,
} from './metrics.ts';
export * from './ops-ports.ts';
export * from './ops-server.ts';
export * from './overrides.ts';
export * from './process-pool.ts';
export * from './product-version.ts';
export * from './refuse-arguments.ts';
export { maskSecrets } from './secrets.ts';
export { settingNames } from './setting-names.ts';
export { readSettingsFile } from './settings-file.ts';
export { nearestSpelling, spellingHint } from './spelling.ts';
export * from './timing-wheel.ts';
export * from './transient-collections.ts';
export * from './turn-batch.ts';
export * from './without-redis.ts';
export * from './young-generation.ts';
export { checkSettings, printPath } from './zod-problems.ts';
