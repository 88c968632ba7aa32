import type { Socket } from 'node:net';

/** Writes `before`, which must be ASCII, and one HTTP chunk as a single string. */
export function writeChunk(socket: Socket, text: string, before = ''): void {
  const bytes = Buffer.byteLength(text);
  // As many bytes as UTF-16 units means that the text is ASCII, which `latin1` writes faster.
  socket.write(`${before}${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? 'latin1' : 'utf8');
}
