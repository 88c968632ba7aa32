import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Systems allow 108 bytes (Linux) or 104 (others), one of which is the terminating zero. */
const longestPath = 103;

/**
 * A path for the socket of a Redis, in a folder that does not exist yet; absent if it would be too long for a socket.
 */
export function createSocketPath(): string | undefined {
  const path = join(tmpdir(), `sluice-${randomBytes(6).toString('hex')}`, 'redis.sock');
  return Buffer.byteLength(path) <= longestPath ? path : undefined;
}
