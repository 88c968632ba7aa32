import { constants } from 'node:os';

/**
 * Makes a signal an ordinary exit of this program, at which it takes along whatever it has started. One that comes again
 * meanwhile, as npm passes a terminal's on, changes nothing.
 */
export function exitOnSignals(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
