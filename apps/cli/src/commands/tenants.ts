import { SluiceError } from '@sluice/canonical';
import { afterChange, type Command, displayName, firstWord, type Input, UsageError } from '../command.ts';
import { keyStateAt } from '../key-state.ts';
import { formatInstant, formatLimits, formatTable } from '../print.ts';

/** The commands over tenants. */
export const tenantCommands: readonly Command[] = [
  {
    name: 'tenants list',
    summary: 'list all tenants',
    isReadOnly: true,
    flags: {},
    async run(_input, open) {
      const { directory } = await open();
      const tenants = await directory.listTenants();
      const rows = tenants.map(({ id, name = '-', weight = 1, limits, createdAt }) => [
        id,
        name,
        String(weight),
        formatLimits(limits),
        formatInstant(createdAt),
      ]);
      return {
        text: formatTable(['ID', 'NAME', 'WEIGHT', 'LIMITS', 'CREATED'], rows, 'there are no tenants'),
        data: tenants,
      };
    },
  },
  {
    name: 'tenants create',
    summary: 'create a tenant, or change the name or weight of one',
    words: 'ID',
    arity: [1, 1],
    flags: {
      name: { value: 'NAME', summary: 'a name for people' },
      weight: { value: 'N', summary: 'its share of a full pool beside others, 0.01 to 100; 1 unless told' },
    },
    async run(input, open) {
      const { directory } = await open();
      const name = displayName(input);
      const weight = weightOf(input);
      const tenant = await directory.upsertTenant(firstWord(input), {
        ...(name !== undefined && { name }),
        ...(weight !== undefined && { weight }),
      });
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
      const good = keys.filter((key) => keyStateAt(input.startedAt, key) === 'good').length;
      if (good > 0 && !input.isSet('force')) {
        const them = good === 1 ? '1 key that is' : `${good} keys that are`;
        throw new UsageError(`tenant ${id} has ${them} still good; --force ends them`);
      }
      const ended = await directory.deleteTenant(id).catch(async (error: unknown) => {
        // An earlier attempt may have got no further than the deletion.
        if (error instanceof SluiceError && error.kind === 'not-found') await admission.forget(id, []);
        throw error;
      });
      // Else a new tenant of this name would begin with what this one has spent.
      await afterChange(
        `tenant ${id} is deleted, but what it has used is not forgotten; repeat that until there is no such tenant`,
        () => admission.forget(id, ended),
      );
      return { text: `tenant ${id} is deleted`, data: { id, endedKeys: good } };
    },
  },
];

/** The value of `--weight`; absent if it was not given. Throws `UsageError` if it is not a number. */
function weightOf(input: Input): number | undefined {
  const text = input.text('weight');
  if (text !== undefined && !/^\d+(\.\d+)?$/.test(text)) throw new UsageError('--weight takes a number');
  return text === undefined ? undefined : Number(text);
}
