import type { Engine } from '@sluice/engines';
import { ownFiles } from '@sluice/runtime';

/**
 * Whether these engines may want more open files than the process has. Then calls of model servers fail, and nobody can
 * reach the operations port: liveness probes would end a worker that serves. `openFiles` is absent if there is no limit.
 */
export function lacksFiles(
  engines: readonly { engine: Pick<Engine, 'mostFiles'> }[],
  openFiles: number | undefined,
): boolean {
  if (openFiles === undefined) return false;
  const wanted = engines.reduce((sum, { engine }) => sum + (engine.mostFiles ?? 0), 0);
  return wanted + ownFiles > openFiles;
}
