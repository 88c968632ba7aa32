/**
 * Runs one program and never outlives the process that started this one. When the IPC channel closes, for whatever
 * reason and even after a SIGKILL, the program is killed, and the folders that were made for it are removed. Arguments:
 * those folders as JSON, the program and its arguments.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const [folders = '[]', program, ...programArguments] = process.argv.slice(2);
let child: ChildProcess | undefined;
const end = (signal: NodeJS.Signals) => {
  if (child) child.kill(signal);
  else process.exit(0);
};
// Set before the program runs: a signal in between would end this process alone and leave the program behind.
process.once('disconnect', () => {
  // Nobody else is left to remove them. The argument is written by `runGuarded`.
  process.once('exit', () => {
    for (const folder of JSON.parse(folders) as string[]) rmSync(folder, { recursive: true, force: true });
  });
  end('SIGKILL');
});
process.on('SIGTERM', () => end('SIGTERM'));
// The parent handles Ctrl-C and a closed terminal, and stops this process when its turn comes.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

if (program === undefined || !process.connected) process.exit(2);

child = spawn(program, programArguments, { stdio: ['ignore', 'inherit', 'inherit'] });
child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
child.once('exit', (code) => process.exit(code ?? 1));
process.send?.({ type: 'started', pid: child.pid }, () => undefined);
