import type { Server } from 'node:net';

/**
 * Files that a process needs besides those of its clients: for Redis, the operations port, listeners, files that it
 * reads.
 */
const ownFiles = 64;
const tellIntervalMs = 60_000;

/** How many files this process may have open; absent if there is no limit or it is not known. */
export function openFilesLimit(): number | undefined {
  // With its network section the report would look up the host name of every peer.
  Object.assign(process.report, { excludeNetwork: true });
  // The form of the report is documented by Node.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

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
