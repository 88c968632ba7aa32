import type { Server } from 'node:net';
import { ownFiles } from '@sluice/runtime';

const tellIntervalMs = 60_000;

/**
 * Turns clients away while the process still has files left for itself. Without any it could neither answer liveness
 * probes nor reconnect to Redis, and nobody would be told, because refusals by the kernel reach no listener. `onFull`
 * is called at most once a minute, with the number of connections; `now` counts milliseconds.
 */
export function limitConnections(
  server: Server,
  openFiles: number,
  now: () => number,
  onFull: (connections: number) => void,
): void {
  const limit = Math.max(1, openFiles - ownFiles);
  let toldAt = Number.NEGATIVE_INFINITY;
  server.maxConnections = limit;
  server.on('drop', () => {
    if (now() - toldAt < tellIntervalMs) return;
    toldAt = now();
    onFull(limit);
  });
}
