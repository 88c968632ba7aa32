import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that exists for a while. */
export interface TemporaryFolder {
  readonly path: string;
  /** Removes it and everything in it. */
  remove(): void;
}

const open = new Set<string>();

/** Makes an empty folder, which is removed when this process ends, however it does except by SIGKILL. */
export function openTemporaryFolder(purpose: string): TemporaryFolder {
  const path = mkdtempSync(join(realpathSync(tmpdir()), `sluice-${purpose}-`));
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
