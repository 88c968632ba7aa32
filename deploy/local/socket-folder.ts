import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the systems allow: 108 bytes on Linux, 104 on others, one of which is the end. */
const longestPath = 103;

/** A folder of its owner alone, for the socket of a Redis. */
export class SocketFolder {
  /** The socket's path; absent where it would be longer than that of any socket. */
  readonly place: { socket?: string };
  private readonly path = mkdtempSync(join(tmpdir(), 'sluice-'));

  constructor() {
    const socket = join(this.path, 'redis.sock');
    this.place = Buffer.byteLength(socket) <= longestPath ? { socket } : {};
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
