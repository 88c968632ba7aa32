import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const folder = import.meta.dirname;
/** Starts a child that ends with it, says its number and waits. */
const program = `
  import { spawn } from 'node:child_process';
  import { exitOnSignals } from '${folder}/../support/exit-on-signals.ts';
  import { killWithUs } from '${folder}/kill-with-us.ts';
  exitOnSignals();
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 1, 'ignore'] });
  killWithUs(child);
  console.log(child.pid);
`;

test('a child ends with a program that is told to end', async () => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = await once(createInterface({ input: parent.stdout }), 'line');
  expect(Number(pid)).toBeGreaterThan(0);
  // The child has our end of the pipe, too: it closes when both are gone.
  const closed = once(parent, 'close');
  parent.kill('SIGTERM');
  expect(await closed).toEqual([143, null]);
});
