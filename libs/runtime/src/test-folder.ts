import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a folder for the running test, which is deleted after it. */
export function openTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-runtime-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
