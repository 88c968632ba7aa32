import type { Key } from '@sluice/tenancy';
import { type Command, displayName, firstWord, UsageError } from '../command.ts';
import { formatInstant, formatLimits, formatTable } from '../print.ts';

/** The commands over tenants. */
export const tenantCommands: readonly Command[] = [
  {
    name: 'tenants list',
    summary: 'list all tenants',
    flags: {},
    async run(_input, open) {
      const { directory } = await open();
      const tenants = await directory.listTenants();
      const rows = tenants.map(({ id, name = '-', limits, createdAt }) => [
        id,
        name,
        formatLimits(limits),
        formatInstant(createdAt),
      ]);
      return {
        text: formatTable(['ID', 'NAME', 'LIMITS', 'CREATED'], rows, 'there are no tenants'),
        data: tenants,
      };
    },
  },
  {
    name: 'tenants create',
    summary: 'create a tenant, or rename one',
    words: 'ID',
    arity: [1, 1],
    flags: { name: { value: 'NAME', summary: 'a name for people' } },
    async run(input, open) {
      const { directory } = await open();
      const name = displayName(input);
      const tenant = await directory.upsertTenant(firstWord(input), name === undefined ? {} : { name });
      return { text: `tenant ${tenant.id} is ready`, data: tenant };
    },
  },
  {
    name: 'tenants delete',
    summary: 'delete a tenant, end all its keys and forget what it has used',
    words: 'ID',
    arity: [1, 1],
    flags: { force: { summary: 'also if it has keys that are still good' } },
    async run(input, open) {
      const { directory, admission } = await open();
      const id = firstWord(input);
      const keys = await directory.listKeys(id);
      const good = keys.filter((key) => isGood(key, input.startedAt)).length;
      if (good > 0 && !input.isSet('force')) {
        const them = good === 1 ? '1 key that is' : `${good} keys that are`;
        throw new UsageError(`tenant ${id} has ${them} still good; --force ends them`);
      }
      const ended = await directory.deleteTenant(id);
      // Or the next tenant of this name would begin with what this one has spent.
      await admission.forget(id, ended);
      return { text: `tenant ${id} is deleted`, data: { id, endedKeys: good } };
    },
  },
];

function isGood({ revokedAt, expiresAt }: Key, at: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > at);
}
