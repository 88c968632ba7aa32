/** Base64 of `sluice`. Signatures of the format's own makers never begin like this. */
const marker = 'c2x1aWNl';

/**
 * The signature of thinking that came from a model which signs nothing. SDKs and coding tools take an empty
 * signature for a broken block, so it is never empty; the same thinking always has the same one.
 */
export function signThinking(length: number): string {
  return marker + Buffer.from(`/1/${length}`).toString('base64');
}

/**
 * Whether a signature that came back is one of ours. Nobody verifies ours, so it is recognized by its first
 * letters alone, and dropped: an upstream that does verify must never see it.
 */
export function isOwnSignature(signature: string): boolean {
  return signature.startsWith(marker);
}
