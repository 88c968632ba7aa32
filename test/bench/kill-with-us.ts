import type { ChildProcess } from 'node:child_process';

/** Lets a child not outlive this process, whatever ends it but a kill. */
export function killWithUs(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  const kill = () => void child.kill(signal);
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}
