import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openFilesLimit } from './open-files.ts';

it('a process knows how many files it may open', async () => {
  expect(openFilesLimit() ?? Number.POSITIVE_INFINITY).toBeGreaterThan(64);
  const program = `
    import { openFilesLimit } from ${JSON.stringify(new URL('./open-files.ts', import.meta.url).href)};
    console.log(openFilesLimit());
  `;
  const words = ['-c', 'ulimit -n 99; exec "$0" --input-type=module -e "$1"', process.execPath, program];
  expect((await promisify(execFile)('sh', words)).stdout).toBe('99\n');
});
