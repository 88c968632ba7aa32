import type { RedisClient } from '../redis/connection.ts';

/** Longer than a connection takes to come back beside another that has. */
const patienceMs = 2_000;

/**
 * Watches the connection on which a consumer waits for jobs. Redis may refuse it although it serves the one beside it,
 * as when it has as many clients as it takes: then no job of the pool is noticed here, and nothing else would say so.
 */
export class LineWatch {
  private readonly line: RedisClient;
  private readonly beside: RedisClient;
  private readonly onRefused: (error: Error) => void;
  private lackingSince: number | undefined;
  private isTold = false;
  private lastError: Error | undefined;

  /** `onRefused` is called once for each time that the line is refused. */
  constructor(line: RedisClient, beside: RedisClient, onRefused: (error: Error) => void) {
    this.line = line;
    this.beside = beside;
    this.onRefused = onRefused;
    line.on('error', (error: Error) => {
      this.lastError = error;
    });
  }

  /** Whether it has been refused for a while. Ask a few times a second. */
  isRefused(): boolean {
    // Without Redis, both are away, and the other one's owner reports that.
    if (this.line.status === 'ready' || this.beside.status !== 'ready') {
      this.lackingSince = undefined;
      this.isTold = false;
      return false;
    }
    const now = performance.now();
    this.lackingSince ??= now;
    if (now - this.lackingSince < patienceMs) return false;
    if (!this.isTold) this.onRefused(this.refusal());
    this.isTold = true;
    return true;
  }

  private refusal(): Error {
    const why = this.lastError?.message ?? 'no answer';
    return new Error(`redis refuses the connection to wait for jobs on, as beyond its maxclients: ${why}`);
  }
}
