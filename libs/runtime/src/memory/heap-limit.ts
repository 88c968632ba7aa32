import { getHeapStatistics } from 'node:v8';

/** Node 24 counts this much for the young generation into the limit of the heap, beside `--max-old-space-size`. */
const youngBytes = 192 * 1024 * 1024;
/** This share of the limit always counts, because that generation is smaller in Node 20, and may be so by a flag. */
const leastShare = 1 / 4;

/**
 * Bytes of heap that this process may keep things in: in Node 24 what `--max-old-space-size` says, or V8's default;
 * where the young generation is smaller, less than that.
 */
export function heapLimitBytes(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit - youngBytes, limit * leastShare);
}
