import type { Redis } from 'ioredis';

/** How often a connection is looked at. */
const lookIntervalMs = 100;

/**
 * Cuts a connection on which Redis says nothing for `limitMs` while a command waits for its answer; what waits
 * fails or is sent again, as the connection's profile has it.
 *
 * It counts looks and not time: a process that stood still itself has answers in its socket that it has not read
 * yet, and timers run before them. ioredis' own limits take that for silence, and cost a timer per command.
 */
export function watchSilence(node: Redis, limitMs: number): void {
  const silentLooksAllowed = Math.ceil(limitMs / lookIntervalMs);
  let silentLooks = 0;
  const heard = (): void => {
    silentLooks = 0;
  };
  node.on('connect', () => {
    heard();
    node.stream.on('data', heard);
  });
  const timer = setInterval(() => {
    silentLooks = node.commandQueue.length === 0 ? 0 : silentLooks + 1;
    if (silentLooks <= silentLooksAllowed) return;
    heard();
    node.stream?.destroy(new Error(`redis said nothing for ${limitMs} ms`));
  }, lookIntervalMs);
  timer.unref();
  node.once('end', () => clearInterval(timer));
}
