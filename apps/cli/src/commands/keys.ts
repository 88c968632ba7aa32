import { parseDurationMs } from '@sluice/admission';
import type { Key } from '@sluice/tenancy';
import { type Command, displayName, firstWord, type Input, required, UsageError } from '../command.ts';
import { keyStateAt } from '../key-state.ts';
import { formatFacts, formatInstant, formatLimits, formatTable } from '../print.ts';
import type { Services } from '../services.ts';

/** The commands over keys. */
export const keyCommands: readonly Command[] = [
  {
    name: 'keys mint',
    summary: 'make a key and show it, this once',
    flags: {
      tenant: { value: 'ID', summary: 'whose key it is; the tenant must exist' },
      name: { value: 'NAME', summary: 'a name for people' },
      models: { value: 'PATTERNS', summary: 'models that it may use, with commas between: qwen-7b,claude-*' },
      expires: { value: 'WHEN', summary: 'when it ends: after 30d or 12h, or at 2027-01-31' },
      'new-secret': { summary: 'even if earlier keys were minted with another secret, which ends them' },
    },
    async run(input, open) {
      const tenant = required(input, 'tenant');
      const options = mintOptions(input);
      const { directory, hasKeySecret } = await open();
      if (!hasKeySecret)
        throw new UsageError('SLUICE_KEY_SECRET is missing: minting takes the secret of the ingress');
      if (!input.isSet('new-secret') && !(await directory.knowsSecret())) {
        throw new UsageError(
          'SLUICE_KEY_SECRET is not the secret of the other keys, so the ingress would not accept this one; ' +
            '--new-secret does it all the same',
        );
      }
      const { credential, key } = await directory.mint({ tenant, ...options });
      const facts = describeKey(key, input.startedAt);
      const text = `${credential}\n\n${facts}\n\nkeep the key now: it is not stored and can't be shown again`;
      return { text, data: { credential, key } };
    },
  },
  {
    name: 'keys list',
    summary: 'list keys, of one tenant or of all',
    isReadOnly: true,
    flags: { tenant: { value: 'ID', summary: 'only the keys of this tenant' } },
    async run(input, open) {
      const keys = await listKeys(input, await open());
      const rows = keys.map((key) => [
        key.id,
        `${key.prefix}…`,
        key.tenant,
        key.name ?? '-',
        keyStateAt(input.startedAt, key),
        key.models?.join(',') ?? '*',
        formatInstant(key.createdAt),
        formatInstant(key.expiresAt),
      ]);
      const heading = ['ID', 'KEY', 'TENANT', 'NAME', 'STATE', 'MODELS', 'CREATED', 'EXPIRES'];
      return { text: formatTable(heading, rows, 'there are no keys'), data: keys };
    },
  },
  {
    name: 'keys show',
    summary: 'show everything about a key but the key',
    isReadOnly: true,
    words: 'ID',
    arity: [1, 1],
    flags: {},
    async run(input, open) {
      const { directory } = await open();
      const key = await directory.key(firstWord(input));
      return { text: describeKey(key, input.startedAt), data: key };
    },
  },
  {
    name: 'keys revoke',
    summary: 'end a key at once, on every ingress',
    words: 'ID',
    arity: [1, 1],
    flags: {},
    async run(input, open) {
      const { directory } = await open();
      const key = await directory.revoke(firstWord(input));
      return { text: `key ${key.id} (${key.prefix}…) is revoked`, data: key };
    },
  },
  {
    name: 'keys prune',
    summary: 'remove keys that are revoked or expired, and what is known of their use',
    flags: { tenant: { value: 'ID', summary: 'only the keys of this tenant' } },
    async run(input, open) {
      const services = await open();
      const keys = await listKeys(input, services);
      const ended = keys.filter((key) => keyStateAt(input.startedAt, key) !== 'good');
      // Their use comes first, because once they are gone nothing leads to it.
      for (const [tenant, theirs] of Map.groupBy(ended, (key) => key.tenant)) {
        await services.admission.forgetKeys(
          tenant,
          theirs.map(({ id }) => id),
        );
      }
      const removed = await services.directory.deleteKeys(ended.map(({ id }) => id));
      return { text: removed === 1 ? '1 key is removed' : `${removed} keys are removed`, data: { removed } };
    },
  },
];

/** The keys of the tenant of `--tenant`, or of all. */
async function listKeys(input: Input, { directory }: Services): Promise<Key[]> {
  const tenant = input.text('tenant');
  // Throws for an unknown tenant: a misspelt one would look like a tenant without keys to revoke.
  if (tenant !== undefined) await directory.tenant(tenant);
  return directory.listKeys(tenant);
}

function mintOptions(input: Input): { name?: string; models?: string[]; expiresAt?: number } {
  const name = displayName(input);
  const models = input
    .text('models')
    ?.split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
  if (models?.length === 0) throw new UsageError('--models names no model; leave it out to allow all');
  // Such a pattern fits nothing, so that with blanks instead of commas the key would be good for no model.
  const unfit = models?.find((pattern) => /[\s\p{C}]/u.test(pattern));
  if (unfit !== undefined)
    throw new UsageError(`--models takes names with commas between; ${JSON.stringify(unfit)} is none`);
  const expires = input.text('expires');
  return {
    ...(name !== undefined && { name }),
    ...(models && { models }),
    ...(expires !== undefined && { expiresAt: parseExpiry(expires, input.startedAt) }),
  };
}

/** The last instant that a `Date` can hold. */
const lastInstant = 8_640_000_000_000_000;

function parseExpiry(text: string, now: number): number {
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
  if (day === undefined && !/^\d+[a-z]*$/.test(text)) {
    const quoted = JSON.stringify(text);
    throw new UsageError(`${quoted} is neither a duration such as 30d nor a date such as 2027-01-31`);
  }
  const instant = day === undefined ? now + parseDurationMs(text) : Date.parse(text);
  if (Number.isNaN(instant) || (day !== undefined && !isDay(day)))
    throw new UsageError(`${JSON.stringify(text)} is not a date`);
  if (instant > lastInstant) throw new UsageError(`${text} is further away than dates go`);
  if (instant <= now) throw new UsageError(`${text} is in the past`);
  return instant;
}

/** Whether the month has such a day: `Date` takes the 31st of a shorter month for a day of the next one. */
function isDay(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

function describeKey(key: Key, now: number): string {
  return formatFacts({
    id: key.id,
    key: `${key.prefix}…`,
    tenant: key.tenant,
    name: key.name,
    state: keyStateAt(now, key),
    models: key.models?.join(', ') ?? 'all',
    limits: formatLimits(key.limits),
    created: formatInstant(key.createdAt),
    expires: key.expiresAt === undefined ? 'never' : formatInstant(key.expiresAt),
    revoked: key.revokedAt === undefined ? undefined : formatInstant(key.revokedAt),
  });
}
