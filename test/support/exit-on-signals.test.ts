import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

/** A program that is interrupted again while it ends what it has started. */
const program = `
  import { writeSync } from 'node:fs';
  import { exitOnSignals } from '${import.meta.dirname}/exit-on-signals.ts';
  exitOnSignals();
  process.on('exit', () => {
    process.kill(process.pid, 'SIGINT');
    writeSync(1, 'all gone');
  });
  process.kill(process.pid, 'SIGINT');
  setInterval(() => {}, 1000);
`;

test('a signal that comes twice, as npm passes it on, does not end the program before its children', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, exit] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(said).toBe('all gone');
  expect(exit).toEqual([130, null]);
});
