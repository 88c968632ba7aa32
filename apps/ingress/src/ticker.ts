/** Calls everything that wants to be called now and then from one timer, so that an open stream costs none. */
export interface Ticker {
  /** Adds a callback; the returned function takes it out again. */
  add(callback: () => void): () => void;
  close(): void;
}

export function createTicker(intervalMs: number): Ticker {
  const callbacks = new Set<() => void>();
  const timer = setInterval(() => {
    for (const callback of callbacks) callback();
  }, intervalMs);
  return {
    add: (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    close: () => clearInterval(timer),
  };
}
