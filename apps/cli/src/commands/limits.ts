import { formatPolicy, type LimitUsage, limitNamed, limits, parsePolicy } from '@sluice/admission';
import type { Json } from '@sluice/canonical';
import type { LimitChanges, Limits } from '@sluice/tenancy';
import { afterChange, type Command, type Flag, type Input, UsageError } from '../command.ts';
import { formatTable } from '../print.ts';
import type { Services } from '../services.ts';

const subjectFlags: Readonly<Record<string, Flag>> = {
  tenant: { value: 'ID', summary: 'the tenant that it binds, all its keys together' },
  key: { value: 'ID', summary: 'the key that it binds, in addition to the limits of its tenant' },
};

/** The commands over limits. They know limits from the registry alone, so a new limit needs no change here. */
export const limitCommands: readonly Command[] = [
  {
    name: 'limits kinds',
    summary: 'list the limits that there are',
    isReadOnly: true,
    flags: {},
    async run() {
      const rows = limits.map(({ name, example, summary }) => [`${name}=${example}`, summary]);
      const data = limits.map(({ name, example, summary }) => ({ name, example, summary }));
      return { text: formatTable(['LIMIT', 'MEANING'], rows, 'there are no limits'), data };
    },
  },
  {
    name: 'limits set',
    summary: 'set limits: concurrency=10 request-rate=60/1m token-budget=1000000',
    words: 'LIMIT=POLICY...',
    arity: [1, Number.POSITIVE_INFINITY],
    flags: subjectFlags,
    async run(input, open) {
      const subject = readSubject(input);
      const changes = parseAssignments(input.words);
      return changeLimits(subject, changes, await open());
    },
  },
  {
    name: 'limits clear',
    summary: 'remove limits',
    words: '[LIMIT...]',
    arity: [0, Number.POSITIVE_INFINITY],
    flags: { ...subjectFlags, all: { summary: 'all of them' } },
    async run(input, open) {
      const subject = readSubject(input);
      if (input.isSet('all') === input.words.length > 0)
        throw new UsageError('name the limits to remove, or say --all');
      const services = await open();
      const { limits: policies } = await load(subject, services);
      // What a newer version has set can be removed as well: until then, all requests that it binds are refused.
      for (const name of input.words) if (!Object.hasOwn(policies, name)) limitNamed(name);
      const names = input.isSet('all') ? Object.keys(policies) : input.words;
      return changeLimits(subject, Object.fromEntries(names.map((name) => [name, null])), services);
    },
  },
  {
    name: 'limits show',
    summary: 'show limits and how much of them is used',
    isReadOnly: true,
    flags: subjectFlags,
    async run(input, open) {
      const subject = readSubject(input);
      return showLimits(subject, await open());
    },
  },
];

type Subject = { type: 'tenant' | 'key'; id: string };

function readSubject(input: Input): Subject {
  const tenant = input.text('tenant');
  const key = input.text('key');
  if (tenant !== undefined && key === undefined) return { type: 'tenant', id: tenant };
  if (key !== undefined && tenant === undefined) return { type: 'key', id: key };
  throw new UsageError('say whom it binds: --tenant ID or --key ID');
}

function parseAssignments(words: readonly string[]): LimitChanges {
  const changes: Record<string, Json> = {};
  for (const [name, policy] of words.map(parseAssignment)) {
    if (name in changes) throw new UsageError(`the limit ${name} is given twice`);
    changes[name] = policy;
  }
  return changes;
}

function parseAssignment(word: string): [name: string, policy: Json] {
  const at = word.indexOf('=');
  if (at < 0) throw new UsageError(`${JSON.stringify(word)} is not of the form limit=policy`);
  const name = word.slice(0, at);
  return [name, parsePolicy(name, word.slice(at + 1))];
}

async function changeLimits(subject: Subject, changes: LimitChanges, services: Services) {
  if (subject.type === 'tenant') await services.directory.changeTenantLimits(subject.id, changes);
  else await services.directory.changeKeyLimits(subject.id, changes);
  return afterChange(`the limits of ${subject.type} ${subject.id} are changed, but not shown`, () =>
    showLimits(subject, services),
  );
}

async function showLimits(subject: Subject, services: Services) {
  const { tenant, limits: policies } = await load(subject, services);
  const own: Limits = Object.fromEntries(Object.entries(policies).filter(isUnderstood));
  const strange = Object.entries(policies).filter((entry) => !isUnderstood(entry));
  const usage = await services.admission.usage(
    subject.type === 'tenant'
      ? { tenant, limits: { tenant: own, key: {} } }
      : { tenant, keyId: subject.id, limits: { tenant: {}, key: own } },
  );
  const rows = [
    ...usage.map((each) => [each.limit, formatPolicy(own[each.limit] ?? null), formatUse(each)]),
    ...strange.map(([name, policy]) => [name, formatPolicy(policy), 'not known to this version']),
  ];
  return {
    text: formatTable(['LIMIT', 'POLICY', 'USED'], rows, `${subject.type} ${subject.id} has no limits`),
    data: [
      ...usage.map(({ limit, used, max }) => ({ limit, policy: own[limit], used, max })),
      ...strange.map(([limit, policy]) => ({ limit, policy })),
    ],
  };
}

/** False for a policy that a newer version has set, whose limit or shape is not known here. */
function isUnderstood([name, policy]: [name: string, policy: Json]): boolean {
  return limits.find((limit) => limit.name === name)?.policy.safeParse(policy).success === true;
}

async function load(
  { type, id }: Subject,
  { directory }: Services,
): Promise<{ tenant: string; limits: Limits }> {
  if (type === 'key') return directory.key(id);
  return { tenant: id, limits: (await directory.tenant(id)).limits };
}

function formatUse({ used, max }: LimitUsage): string {
  return `${Math.ceil(used)} (${Math.round((100 * used) / max)} %)`;
}
