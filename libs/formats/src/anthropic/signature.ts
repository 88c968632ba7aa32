/** Base64 of `sluice`. Signatures of the format's own makers never begin like this. */
const marker = 'c2x1aWNl';
/** What follows the marker, itself in base64: a length, or the thinking that the client did not want to see. */
const shown = '/1/';
const hidden = '/2/';

/**
 * The signature of thinking that came from a model which signs nothing. SDKs and coding tools take an empty
 * signature for a broken block, so it is never empty; the same thinking always has the same one.
 */
export function signThinking(length: number): string {
  return marker + Buffer.from(shown + length).toString('base64');
}

/**
 * The signature of thinking that is kept from the client, with the thinking in it, as the makers' own have theirs: it
 * comes back with the next turn, and there are servers that refuse a call without the thinking that led to it.
 */
export function sealThinking(text: string): string {
  return marker + Buffer.from(hidden + text).toString('base64');
}

/**
 * Whether a signature that came back is one of ours. Nobody verifies ours, so it is recognized by its first
 * letters alone, and dropped: an upstream that does verify must never see it.
 */
export function isOwnSignature(signature: string): boolean {
  return signature.startsWith(marker);
}

/** The thinking that was sealed in a signature; '' where there is none. */
export function unsealThinking(signature: string): string {
  if (!isOwnSignature(signature)) return '';
  const text = Buffer.from(signature.slice(marker.length), 'base64').toString('utf8');
  return text.startsWith(hidden) ? text.slice(hidden.length) : '';
}
