export * from './logging/logger.ts';
export { encodeLarge } from './memory/encode-large.ts';
export * from './memory/heap-limit.ts';
export * from './memory/transient-collections.ts';
export { Turns } from './memory/turns.ts';
export * from './memory/young-generation.ts';
export type { DurationSeries } from './metrics/duration-histogram.ts';
export {
  type AttemptReason,
  type DroppedFrameReason,
  fallbackReasons,
  type MediaFetchOutcome,
  type Outcome,
  outcomes,
  type ResendReason,
} from './metrics/labels.ts';
export { beginAtZero, createRegistry, renderMetrics } from './metrics/metric-set.ts';
export {
  createIngressMetrics,
  createWorkerMetrics,
  describeMetrics,
  type IngressMetrics,
  type MetricDescription,
  type WorkerMetrics,
} from './metrics/metrics.ts';
export * from './process/background-threads.ts';
export * from './process/lifecycle.ts';
export * from './process/listen-failure.ts';
export * from './process/open-files.ts';
export * from './process/ops-ports.ts';
export * from './process/ops-server.ts';
export * from './process/process-pool.ts';
export * from './process/product-version.ts';
export * from './settings/config-error.ts';
export * from './settings/environment.ts';
export * from './settings/environment-values.ts';
export * from './settings/overrides.ts';
export * from './settings/purpose.ts';
export { namesIn } from './settings/schema-names.ts';
export { maskSecrets } from './settings/secrets.ts';
export { settingNames } from './settings/setting-names.ts';
export { readSettingsFile } from './settings/settings-file.ts';
export { nearestSpelling, spellingHint } from './settings/spelling.ts';
export { checkSettings, printPath } from './settings/zod-problems.ts';
export * from './time/after-turn.ts';
export * from './time/awake-limit.ts';
export { type Clock, longestTimerMs, steadyNow, systemClock, type Timer } from './time/clock.ts';
export * from './time/fake-clock.ts';
export * from './time/regular-look.ts';
export * from './time/timing-wheel.ts';
export * from './time/turn-batch.ts';
export { openTracing } from './tracing/open-tracing.ts';
export { parseTraceSettings, type TraceSampling } from './tracing/trace-settings.ts';
export * from './tracing/tracing.ts';
export * from './without-redis.ts';
