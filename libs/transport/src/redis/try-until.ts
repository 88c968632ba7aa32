import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';

/** Pause between two tries. */
const pauseMs = 100;

/** What a series of tries that fails is told by. */
export interface TriesOptions {
  /** Whether another try after this error would be in vain. Default: none would. */
  isFinal?(cause: unknown): boolean;
  /** The message of the error in which the tries end, from the reason of the last one. */
  sentence(why: string): string;
}

/**
 * Tries again and again. Rejects with an error that `isFinal`, or with `unavailable` as soon as `signal` aborts. A try
 * that is under way then is not waited for: while Redis is away, commands that are sent again by themselves never fail.
 */
export async function tryUntil<Value>(
  signal: AbortSignal,
  attempt: () => Promise<Value>,
  { isFinal = () => false, sentence }: TriesOptions,
): Promise<Value> {
  let last: unknown;
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  while (!signal.aborted) {
    const tried = attempt().then(
      (value) => ({ value }),
      (cause: unknown) => {
        if (isFinal(cause)) throw cause;
        last = cause;
      },
    );
    const done = await Promise.race([tried, aborted]);
    if (done) return done.value;
    await Promise.race([sleep(pauseMs), aborted]);
  }
  throw new SluiceError('unavailable', sentence(reasonOf(last)), { cause: last });
}

/** What an error says to the operator; nothing has come from Redis where there is none. */
export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : 'no answer';
}
