import { constants, inflateSync } from 'node:zlib';

/** Writers put about 100 objects into a stream, which are 10 to 20 KB as text. */
const mostCharacters = 32_768;
/** Such text has 3 to 5 times the length of its stream. */
const mostTimes = 8;
const mostStreams = 3;
/** How far the data is from the word by which we find the stream. */
const dictionaryLength = 256;

const type = '/ObjStm';
const beginning = 'stream';
const ending = 'endstream';

/**
 * What the last few object streams in a piece of a PDF hold, as text, the last of them first; it may be cut off at the
 * end of the piece. Never throws, and leaves out what can't be read or would be much longer than other streams are.
 */
export function* objectStreams(piece: string): Generator<string> {
  let at = piece.lastIndexOf(type);
  for (let count = 0; at !== -1 && count < mostStreams; count += 1) {
    const text = inflated(piece, at);
    if (text !== undefined) yield text;
    at = at === 0 ? -1 : piece.lastIndexOf(type, at - 1);
  }
}

function inflated(piece: string, at: number): string | undefined {
  const begin = piece.slice(at, at + dictionaryLength).indexOf(beginning);
  if (begin === -1) return undefined;
  const start = at + begin + beginning.length;
  const end = piece.indexOf(ending, start);
  const data = Buffer.from(piece.slice(start, end === -1 ? undefined : end).trimStart(), 'latin1');
  const maxOutputLength = Math.min(mostCharacters, data.length * mostTimes);
  try {
    return inflateSync(data, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    return undefined;
  }
}
