import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the systems allow: 108 bytes on Linux, 104 on others, one of which is the end. */
const longestPath = 103;

/** Where a Redis can have its socket, in a folder that is not there yet; absent where no socket can have so long a path. */
export function createSocketPath(): string | undefined {
  const path = join(tmpdir(), `sluice-${randomBytes(6).toString('hex')}`, 'redis.sock');
  return Buffer.byteLength(path) <= longestPath ? path : undefined;
}
