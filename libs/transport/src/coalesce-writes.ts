import type { Redis } from 'ioredis';

/**
 * When a connection sends what was written since it last sent.
 * - `turn`: at the end of the event-loop turn: one system call for all that the turn's sockets brought.
 * - `step`: after the callback that wrote, with all its promises: for what is written at a turn's end already, where
 *   waiting for the end would mean the next one.
 */
export type Pace = 'turn' | 'step';

const schedule: Readonly<Record<Pace, (flush: () => void) => void>> = {
  turn: (flush) => void setImmediate(flush),
  step: (flush) => process.nextTick(flush),
};

/**
 * Sends the commands of one turn or step with one system call: at 256 concurrent requests a command was a `write`
 * of its own, 23 % of the ingress and of the worker. ioredis' own auto-pipelining does not survive our scripts
 * (6.0.0).
 */
export function coalesceWrites(node: Redis, pace: Pace): void {
  // Every reconnect brings a stream of its own.
  node.on('connect', () => {
    const { stream } = node;
    const write = stream.write;
    let isCorked = false;
    const flush = (): void => {
      isCorked = false;
      stream.uncork();
    };
    stream.write = function writeCorked(this: typeof stream, ...words: Parameters<typeof write>) {
      if (!isCorked) {
        isCorked = true;
        stream.cork();
        schedule[pace](flush);
      }
      return write.apply(this, words);
    } as typeof write;
  });
}
