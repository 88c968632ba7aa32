import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for a while. */
export interface TemporaryFolder {
  readonly path: string;
  /** Removes it with all that is in it. */
  remove(): void;
}

const open = new Set<string>();

/** Makes an empty folder. Whatever ends this process but a kill takes it along. */
export function openTemporaryFolder(purpose: string): TemporaryFolder {
  const path = mkdtempSync(join(realpathSync(tmpdir()), `sluice-bench-${purpose}-`));
  if (open.size === 0) process.on('exit', removeAll);
  open.add(path);
  return {
    path,
    remove() {
      open.delete(path);
      if (open.size === 0) process.off('exit', removeAll);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function removeAll(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true });
}
