import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it('sets a flag that this V8 knows', async () => {
  const program = `
    import { cachedDataVersionTag } from 'node:v8';
    import { keepAllocationsYoung } from './young-generation.ts';
    // V8 derives this number from its version and its flags.
    const before = cachedDataVersionTag();
    keepAllocationsYoung();
    console.log(before === cachedDataVersionTag());
  `;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
  });
  expect([stdout.trim(), stderr]).toEqual(['false', '']);
});
