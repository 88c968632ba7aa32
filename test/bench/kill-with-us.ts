import type { ChildProcess } from 'node:child_process';

/** Ends the child when this process ends, however it does except by SIGKILL. */
export function killWithUs(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  const kill = () => void child.kill(signal);
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}
