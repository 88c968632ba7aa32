import type { Socket } from 'node:net';

/** What is written together with a chunk. Both must be ASCII; absent means nothing. */
export interface ChunkSurroundings {
  before?: string;
  after?: string;
}

/** Writes one HTTP chunk and what surrounds it as a single string. `written` is called as by the socket itself. */
export function writeChunk(
  socket: Socket,
  text: string,
  { before = '', after = '' }: ChunkSurroundings = nothing,
  written?: (error?: Error | null) => void,
): void {
  const bytes = Buffer.byteLength(text);
  const chunk = `${before}${bytes.toString(16)}\r\n${text}\r\n${after}`;
  // As many bytes as UTF-16 units means that the text is ASCII, which `latin1` writes faster.
  if (bytes === text.length) socket.write(chunk, 'latin1', written);
  else if (socket.writableLength === 0) socket.write(chunk, 'utf8', written);
  // A string that has to wait would be counted and kept in UTF-16: up to three bytes as one, and each of ASCII as two.
  else socket.write(Buffer.from(chunk), written);
}

const nothing: ChunkSurroundings = {};
