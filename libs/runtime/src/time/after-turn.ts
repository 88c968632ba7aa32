let waiting: (() => void)[] = [];

/**
 * Runs a callback after this turn of the event loop, together with all others of the turn: what they send on one
 * connection leaves with one write. `setImmediate` lets each have its own, since a callback's promises are settled
 * before the next one runs. A callback must not throw, or the others of its turn do not run.
 */
export function afterTurn(callback: () => void): void {
  if (waiting.length === 0) setImmediate(runAll);
  waiting.push(callback);
}

function runAll(): void {
  const callbacks = waiting;
  waiting = [];
  for (const callback of callbacks) callback();
}
