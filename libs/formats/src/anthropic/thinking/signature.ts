/** Base64 of `sluice`. Claude's own signatures never begin like this. */
const marker = 'c2x1aWNl';
/** What follows the marker, itself in base64: a length, or the thinking that the client did not want to see. */
const shown = '/1/';
const hidden = '/2/';

/**
 * The signature of thinking by a model that signs nothing. It is never empty, because SDKs and coding tools take an
 * empty signature for a broken block. The same thinking always has the same signature.
 */
export function signThinking(length: number): string {
  return marker + Buffer.from(shown + length).toString('base64');
}

/**
 * The signature of thinking that is hidden from the client. It contains the thinking, as Claude's own signatures do.
 * The client returns it with its next turn, and some servers refuse a call without the thinking that led to it.
 */
export function sealThinking(text: string): string {
  return marker + Buffer.from(hidden + text).toString('base64');
}

/**
 * Whether a returned signature is one of ours. We never verify ours, so the prefix is enough. It is then dropped: an
 * upstream that does verify must never see it.
 */
export function isOwnSignature(signature: string): boolean {
  return signature.startsWith(marker);
}

/** The thinking sealed in a signature; '' when there is none. */
export function unsealThinking(signature: string): string {
  if (!isOwnSignature(signature)) return '';
  const text = Buffer.from(signature.slice(marker.length), 'base64').toString('utf8');
  return text.startsWith(hidden) ? text.slice(hidden.length) : '';
}
