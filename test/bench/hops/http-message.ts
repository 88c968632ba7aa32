/**
 * The size of an HTTP message by what has come of it: head and body if a length is announced, the head alone if none
 * is. Absent until the head is complete. It knows no more of HTTP than the load test and the fake upstream speak.
 */
export function messageSize(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const length = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, end))?.[1];
  return end + 4 + Number(length ?? 0);
}

const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/** Whether these bytes end a chunked body. `before` are those of the read before, where the end may begin. */
export function endsChunks(bytes: Buffer, before: Buffer): boolean {
  const read = bytes.length < lastChunk.length ? Buffer.concat([before, bytes]) : bytes;
  const from = read.length - lastChunk.length;
  return from >= 0 && read.compare(lastChunk, 0, lastChunk.length, from) === 0;
}
