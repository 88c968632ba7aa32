import { constants } from 'node:os';

/**
 * Makes a signal an ordinary exit of this program, at which it ends whatever it has started. The same signal may come
 * twice, since npm passes on the terminal's; the second changes nothing.
 */
export function exitOnSignals(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
