import type { Redis } from 'ioredis';

/**
 * Sends the commands of one step (a callback with all its promises) with one system call: at 256 concurrent requests a
 * command was a `write` of its own, 23 % of the ingress and of the worker. Waiting for the end of the event-loop turn
 * gains nothing more, since what can be gathered over a turn is gathered before. ioredis' own auto-pipelining does not
 * survive our scripts (6.0.0).
 */
export function coalesceWrites(node: Redis): void {
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
        process.nextTick(flush);
      }
      return write.apply(this, words);
    } as typeof write;
  });
}
