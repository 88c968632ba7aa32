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
  socket.write(chunk, bytes === text.length ? 'latin1' : 'utf8', written);
}

const nothing: ChunkSurroundings = {};
