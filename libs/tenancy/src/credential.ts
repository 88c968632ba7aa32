import { createHmac } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^sk-[0-9A-Za-z]{40,128}$/;
const credentialLetters = 43;
const visibleLetters = 4;

/** Returns this many random bytes; in production, `randomBytes` of node:crypto. */
export type RandomBytes = (size: number) => Uint8Array;

/** A new credential: `sk-` and 43 letters of base62, which is 256 bits. */
export function mintCredential(randomBytes: RandomBytes): string {
  return `sk-${randomLetters(credentialLetters, randomBytes)}`;
}

/** Random letters of base62, all equally likely. */
export function randomLetters(count: number, randomBytes: RandomBytes): string {
  let letters = '';
  while (letters.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 is the largest multiple of 62 in a byte: anything above would favour the first letters.
      if (byte < 248 && letters.length < count) letters += alphabet[byte % 62];
    }
  }
  return letters;
}

/** Whether a text could be one of our credentials. It is asked before any look-up, so that junk costs nothing. */
export function isCredential(text: string): boolean {
  return shape.test(text);
}

/** What is stored instead of a credential: its HMAC-SHA256 under the installation's secret, in hex. */
export function hashCredential(credential: string, secret: string): string {
  return createHmac('sha256', secret).update(credential).digest('hex');
}

/** The part of a credential that may be shown, so that its owner can tell it from others. */
export function visiblePrefix(credential: string): string {
  return credential.slice(0, 'sk-'.length + visibleLetters);
}
