import type { Redis } from 'ioredis';

/**
 * Sends all commands of one event-loop turn with one system call: at 256 concurrent requests a command was a
 * `write` of its own. ioredis' own auto-pipelining does not survive our scripts (6.0.0).
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
        setImmediate(flush);
      }
      return write.apply(this, words);
    } as typeof write;
  });
}
