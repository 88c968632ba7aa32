import type { Server } from 'node:net';

/** Files that a process needs beside its clients: for Redis, the operations port, what it reads and who else listens. */
const ownFiles = 64;
const tellIntervalMs = 60_000;

/** How many files this process may have open; absent where nothing says so. */
export function openFilesLimit(): number | undefined {
  // It would ask name servers for the names of all who are connected.
  Object.assign(process.report, { excludeNetwork: true });
  // What Node reports of its own process, in a form that it documents.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/**
 * Turns clients away while the process has files left for itself. Without them it could not answer who asks whether it
 * lives, nor find back to Redis, and nobody would be told: the kernel's refusals come to no listener. `onFull` is told
 * once a minute at most, with the number of connections; `now` counts milliseconds.
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
