import { refusalNames } from '@sluice/admission';
import type { Catalog } from '@sluice/catalog';
import { formats } from '@sluice/formats';
import {
  beginAtZero,
  createIngressMetrics,
  fallbackReasons,
  type IngressMetrics,
  outcomes,
  productVersion,
  redisRefusal,
} from '@sluice/runtime';
import type { JobQueue, WorkerDirectory } from '@sluice/transport';
import { overloadRefusal } from './guards/overload.ts';
import { promptRefusal } from './guards/prompt-room.ts';
import { bodyRefusal } from './plugins/body-room.ts';

const lookIntervalMs = 1_000;

/** All that may refuse a request before the queue, by its name in metrics, logs and alerts. */
export const everyRefusal: readonly string[] = [
  ...refusalNames,
  redisRefusal,
  overloadRefusal,
  promptRefusal,
  bodyRefusal,
];

/**
 * The metrics of an ingress process. Every possible series starts at 0, so that its first increment is visible as one.
 */
export function openMetrics(catalog: Catalog): IngressMetrics {
  const metrics = createIngressMetrics();
  const { refusals, requests, tokens, fallbacks, buildInfo } = metrics;
  beginAtZero(refusals, { limit: everyRefusal });
  beginAtZero(requests, { format: formats.map(({ server }) => server.format), outcome: outcomes });
  beginAtZero(tokens, { model: catalog.models.keys(), direction: ['input', 'output'] });
  for (const { id, fallbacks: others } of catalog.models.values())
    beginAtZero(fallbacks, { model: [id], fallback: others, reason: fallbackReasons });
  buildInfo.set({ version: productVersion() }, 1);
  return metrics;
}

/** Measures the queue depth and the slots of each pool, until the returned function is called. */
export function measurePools(
  metrics: Pick<IngressMetrics, 'poolSlots' | 'queueDepth'>,
  catalog: Catalog,
  { slotsOf, depth }: Pick<WorkerDirectory, 'slotsOf'> & Pick<JobQueue, 'depth'>,
): () => void {
  const depths = new Map<string, number>();
  for (const pool of catalog.pools.keys()) {
    metrics.poolSlots.readFrom({ pool }, () => slotsOf(pool));
    metrics.queueDepth.readFrom({ pool }, () => depths.get(pool) ?? 0);
  }
  const look = (pool: string): void => {
    // While Redis is away, the last known depth stands.
    depth(pool).then(
      (waiting) => depths.set(pool, waiting),
      () => undefined,
    );
  };
  const looking = setInterval(() => [...catalog.pools.keys()].forEach(look), lookIntervalMs);
  return () => clearInterval(looking);
}
