import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const folder = import.meta.dirname;
/** A program that starts a child which ends with it, prints the child's process id and waits. */
const program = `
  import { spawn } from 'node:child_process';
  import { exitOnSignals } from '${folder}/../../support/exit-on-signals.ts';
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
  // The child holds the pipe open, too, so it closes when both have ended.
  const closed = once(parent, 'close');
  parent.kill('SIGTERM');
  expect(await closed).toEqual([143, null]);
});
