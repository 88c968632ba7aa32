/**
 * Runs one program and never outlives the process that started this one: when the IPC channel closes, for
 * whatever reason and even after a SIGKILL, the program is killed. Arguments: the program and its arguments.
 */
import { spawn } from 'node:child_process';

const [program, ...programArguments] = process.argv.slice(2);
if (program === undefined || !process.connected) process.exit(2);

const child = spawn(program, programArguments, { stdio: ['ignore', 'inherit', 'inherit'] });
child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
child.once('exit', (code) => process.exit(code ?? 1));
process.once('disconnect', () => child.kill('SIGKILL'));
process.on('SIGTERM', () => child.kill('SIGTERM'));
// Ctrl-C and a closed terminal are for the process above, which stops this one when its turn comes.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.send?.({ type: 'started', pid: child.pid }, () => undefined);
