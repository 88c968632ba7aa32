import { getHeapStatistics } from 'node:v8';

/** V8 counts this much for its young generation into the limit of the heap, whatever `--max-old-space-size` says. */
const youngBytes = 192 * 1024 * 1024;

/** Bytes of heap that this process may keep things in: about what `--max-old-space-size` says, or V8's default. */
export function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit - youngBytes;
}
