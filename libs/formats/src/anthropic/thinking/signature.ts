import { parseObject } from '../../json/json-object.ts';

/** Base64 of `sluice`. Claude's own signatures never begin like this. */
const marker = 'c2x1aWNl';
/**
 * What follows the marker, itself in base64: a length, the thinking that the client did not want to see, or an object
 * of that and of the server's signature.
 */
const shown = '/1/';
const hidden = '/2/';
const signed = '/3/';

/**
 * The signature of thinking by a model that signs nothing. It is never empty, because SDKs and coding tools take an
 * empty signature for a broken block. The same thinking always has the same signature.
 */
export function signThinking(length: number): string {
  return marker + Buffer.from(shown + length).toString('base64');
}

/**
 * The signature of thinking that is hidden from the client. It contains the thinking, as Claude's own signatures do.
 * The client returns it with its next turn, and some servers refuse a call without the thinking that led to it. A
 * server's own signature (`own`) is sealed with the text that it showed, because it may be a mere id; without a text,
 * it is all that there is to return.
 */
export function sealThinking(text: string, own?: string): string {
  if (own !== undefined && text === '') return own;
  const sealed = own === undefined ? hidden + text : signed + JSON.stringify({ text, signature: own });
  return marker + Buffer.from(sealed).toString('base64');
}

/** What a returned signature stands for: the thinking sealed in it, '' when there is none, and a server's signature. */
export interface Unsealed {
  text: string;
  /** Absent when no server signed the thinking. */
  signature?: string;
}

/**
 * Takes a signature apart. We never verify ours, so the marker is enough. It is then dropped: an upstream that does
 * verify must never see it.
 */
export function unsealThinking(signature: string): Unsealed {
  if (!signature.startsWith(marker)) return { text: '', ...(signature !== '' && { signature }) };
  const sealed = Buffer.from(signature.slice(marker.length), 'base64').toString('utf8');
  if (sealed.startsWith(hidden)) return { text: sealed.slice(hidden.length) };
  const { text, signature: own } = sealed.startsWith(signed)
    ? (parseObject(sealed.slice(signed.length)) ?? {})
    : {};
  return { text: typeof text === 'string' ? text : '', ...(typeof own === 'string' && { signature: own }) };
}
