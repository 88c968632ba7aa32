import { constants } from 'node:os';

/** Makes a signal an ordinary exit of this program, at which it takes along whatever it has started. */
export function exitOnSignals(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
