import type { ChildProcess } from 'node:child_process';

const open = new Map<ChildProcess, NodeJS.Signals>();

/** Ends the child when this process ends, however it does except by SIGKILL. */
export function killWithUs(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (open.size === 0) process.on('exit', killAll);
  open.set(child, signal);
  child.once('exit', () => {
    open.delete(child);
    if (open.size === 0) process.off('exit', killAll);
  });
}

function killAll(): void {
  for (const [child, signal] of open) child.kill(signal);
}
