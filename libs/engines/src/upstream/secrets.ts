import type { UpstreamOptions } from './options.ts';

/** Shorter texts are no keys, and a server may use them as ordinary words. */
const shortestKey = 16;
/**
 * The shortest beginning of a key that is removed from the end of a cut message. A whole credential that is shorter is
 * no secret: a server without keys is given `x` or `none`, which occur inside of other words.
 */
const shortestBeginning = 6;
/** How vendors name a key and its account, for example when they refuse a call for lack of quota. */
const account =
  /\b(?:org|proj|ak)[-_][a-z\d]{8,}|\bproject_number:\d+|(?<=\borg(?:: |anization \())[\da-f]{8}(?:-[\da-f]{4,12}){4}/gi;

/** The texts in a backend's settings that no client may see: its keys, wherever they are. */
export function secretsOf({ credential, headers, baseUrl }: UpstreamOptions): readonly string[] {
  const query = [...new URL(baseUrl).searchParams.values()];
  const words = [...Object.values(headers), ...query].flatMap((value) => value.split(/\s+/));
  const keys = words.filter((word) => word.length >= shortestKey);
  const isSecret = credential !== undefined && credential.length >= shortestBeginning;
  return isSecret ? [credential, ...keys] : keys;
}

/** A server's words without these texts, and without the names of the account. */
export function withoutSecrets(message: string, secrets: readonly string[]): string {
  let shown = message;
  for (const secret of secrets) shown = withoutEnd(shown.replaceAll(secret, '[credential]'), secret);
  return shown.replace(account, '[account]');
}

/** Removes the beginning of a secret whose rest was cut off. */
function withoutEnd(message: string, secret: string): string {
  for (let length = secret.length - 1; length >= shortestBeginning; length -= 1) {
    if (message.endsWith(secret.slice(0, length))) return `${message.slice(0, -length)}[credential]`;
  }
  return message;
}
