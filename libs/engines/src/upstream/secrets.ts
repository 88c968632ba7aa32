import type { UpstreamOptions } from './options.ts';

/** What is shorter is no key, and may be a word that a server says for its own reasons. */
const shortestKey = 16;
/**
 * The beginning of a key that a cut message may end with, and that tells too much. A whole credential that is shorter is
 * none: a server without keys is given `x` or `none`, which stand inside of other words.
 */
const shortestBeginning = 6;
/** How vendors name the account that a key belongs to: in their refusals for want of a quota, for one. */
const account = /\b(?:org|proj)[-_][a-z\d]{8,}|\bproject_number:\d+/gi;

/** The texts in a backend's settings that no client may see: its keys, wherever they are put. */
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

/** Without the beginning of a secret whose rest was cut off. */
function withoutEnd(message: string, secret: string): string {
  for (let length = secret.length - 1; length >= shortestBeginning; length -= 1) {
    if (message.endsWith(secret.slice(0, length))) return `${message.slice(0, -length)}[credential]`;
  }
  return message;
}
