/** How long to wait, and for what. */
export interface UntilOptions {
  /** How long the condition may take. Default: 10,000. */
  timeoutMs?: number;
  /** Pause between two checks, in milliseconds. Default: 10. */
  intervalMs?: number;
  /** Ends the wait early, with the signal's reason. */
  signal?: AbortSignal;
  /** What is waited for, such as "the job to be claimed"; part of the error when time is up. */
  what?: string;
}

/**
 * Polls until `condition` returns something truthy and resolves with it. The last thing that it threw is the cause of
 * the error when time is up. Meant for facts that no event announces: a key in Redis, a process that is gone.
 */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { timeoutMs = 10_000, intervalMs = 10, signal, what = 'the condition' }: UntilOptions = {},
): Promise<NonNullable<Value>> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    let cause: unknown;
    try {
      const value = await condition();
      if (value) return value;
    } catch (thrown) {
      cause = thrown;
    }
    if (performance.now() >= endsAt) {
      throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}
