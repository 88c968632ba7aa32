import type { Key } from '@sluice/tenancy';

/** Whether the ingresses accept a key at `now` (epoch milliseconds), or why they do not. */
export function keyStateAt(now: number, { revokedAt, expiresAt }: Key): 'good' | 'revoked' | 'expired' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'good';
}
