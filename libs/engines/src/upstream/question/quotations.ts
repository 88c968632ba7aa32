import type { InferenceRequest } from '@sluice/canonical';
import { textsOf, valuesOf } from './client-texts.ts';

/** So many characters in a row do not stand in a request and in its refusal by chance. */
const quotedLength = 24;
/** Of each longer piece, one whole block stands in it, wherever the blocks of its text begin. */
const blockLength = quotedLength / 2;

/** What a server has words of its own for, too: a value of an enumeration, a keyword of JSON Schema. */
const plainWord = /^[a-z\d$-]*$/i;

/**
 * What a server said of a request in its own words: without the texts, names and ids of the request that stand there
 * whole, and without longer pieces of them.
 */
export function withoutQuotations(refusal: string, request: InferenceRequest): string {
  // Each only once: a conversation may say one word a hundred thousand times, and each takes a look at the refusal.
  const texts = new Set(textsOf(request));
  for (const value of valuesOf(request)) if (!plainWord.test(value)) texts.add(value);
  const words = [...texts];
  const whole = words.filter((word) => word !== '' && refusal.includes(word));
  const rest = whole.reduce((said, word) => withoutWord(said, word), refusal);
  return withoutPieces(rest, words);
}

/** Not where it is only a part of a longer word, as a short text may well be. */
function withoutWord(refusal: string, word: string): string {
  const isEdge = (character: string | undefined) => character === undefined || !/\w/.test(character);
  return refusal
    .split(word)
    .reduce((said, next) => `${said}${isEdge(said.at(-1)) && isEdge(next[0]) ? '…' : word}${next}`);
}

function withoutPieces(refusal: string, words: readonly string[]): string {
  const quoted = quotedPieces(refusal, words);
  let said = '';
  let from = 0;
  for (let at = 0; at + quotedLength <= refusal.length; at += 1) {
    if (!quoted.has(refusal.slice(at, at + quotedLength))) continue;
    if (at > from) said += `${refusal.slice(from, at)}…`;
    from = at + quotedLength;
  }
  return said + refusal.slice(from);
}

/**
 * The pieces of a refusal that stand in these words, too. Looks at one block in each row of so many characters, and
 * closer only where the refusal has that block: a request has megabytes.
 */
function quotedPieces(refusal: string, words: readonly string[]): Set<string> {
  const blocks = piecesOf(refusal, blockLength);
  const pieces = piecesOf(refusal, quotedLength);
  const quoted = new Set<string>();
  for (const word of words) {
    for (let at = 0; at + blockLength <= word.length; at += blockLength) {
      if (!blocks.has(word.slice(at, at + blockLength))) continue;
      for (let from = Math.max(0, at - blockLength); from <= at; from += 1) {
        const piece = word.slice(from, from + quotedLength);
        if (pieces.has(piece)) quoted.add(piece);
      }
    }
  }
  return quoted;
}

function piecesOf(text: string, length: number): Set<string> {
  const pieces = new Set<string>();
  for (let at = 0; at + length <= text.length; at += 1) pieces.add(text.slice(at, at + length));
  return pieces;
}
