export interface UntilOptions {
  /** How long the condition may take. Default: 10,000: shorter than what would happen by itself. */
  timeoutMs?: number;
  /** Pause between two looks. Default: 10. */
  intervalMs?: number;
  /** Gives up early; rejects with the signal's reason. */
  signal?: AbortSignal;
  /** What is waited for, as in "the job to be claimed"; part of the message when the time is over. */
  what?: string;
}

/**
 * Looks until `condition` gives something truthy and resolves with it. What it threw last is the cause when
 * the time is over. For facts that announce themselves by no event: a key in Redis, a process that is gone.
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
