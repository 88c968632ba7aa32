import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '@sluice/admission';
import { Directory, type LimitChanges } from '@sluice/tenancy';
import { findFreePort, type OwnTestRedis, startCluster, startOwnRedis } from '@sluice/testing';
import { connected, openRedis } from '@sluice/transport';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { runCli, type Surroundings } from './cli.ts';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
let server: OwnTestRedis;
let environment: Record<string, string>;
let now = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  server = await startOwnRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.restart();
  environment = { SLUICE_REDIS_URL: server.url, SLUICE_KEY_SECRET: 'a secret of the tests' };
  now = Date.UTC(2026, 0, 1);
});

interface Run {
  code: number;
  output: string;
  errors: string;
}

async function run(...line: string[]): Promise<Run> {
  let output = '';
  let errors = '';
  const code = await runCli(line, {
    environment,
    now: () => now,
    write: async (text) => {
      output += text;
    },
    writeError: (text) => {
      errors += text;
    },
  });
  return { code, output, errors };
}

async function json(...line: string[]) {
  const { code, output, errors } = await run(...line, '--json');
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return JSON.parse(output);
}

async function setByNewerVersion(tenant: string, changes: LimitChanges): Promise<void> {
  const redis = openRedis(server.url, { profile: 'command', name: 'newer', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  await new Directory({ redis }).changeTenantLimits(tenant, changes);
  redis.disconnect();
}

it('a tenant is given a weight, which stays until another is given', async () => {
  await run('tenants', 'create', 'acme', '--weight', '2.5');
  await run('tenants', 'create', 'acme', '--name', 'Acme Ltd');
  await run('tenants', 'create', 'other');
  expect(await json('tenants', 'list')).toMatchObject([{ id: 'acme', weight: 2.5 }, { id: 'other' }]);
  const [, acme, other] = (await run('tenants', 'list')).output.split('\n');
  expect(acme).toMatch(/^acme +Acme Ltd +2\.5 /);
  expect(other).toMatch(/^other +- +1 /);
});

it('a key is minted, listed, shown and revoked, and its credential is seen once', async () => {
  await run('tenants', 'create', 'acme', '--name', 'Acme Ltd');
  const { credential, key } = await json(
    'keys',
    'mint',
    '--tenant',
    'acme',
    '--models',
    'qwen-7b, claude-*',
    '--expires',
    '30d',
  );
  expect(credential).toMatch(/^sk-[0-9A-Za-z]{43}$/);
  expect(key).toMatchObject({
    tenant: 'acme',
    models: ['qwen-7b', 'claude-*'],
    expiresAt: now + 30 * 86_400_000,
  });
  for (const line of [['list'], ['list', '--tenant', 'acme'], ['show', key.id], ['revoke', key.id]]) {
    const { code, output } = await run('keys', ...line);
    expect(code).toBe(0);
    expect(output).toContain(key.id);
    expect(output).not.toContain(credential);
  }
  expect((await run('keys', 'list')).output).toContain('revoked');
  await run('tenants', 'create', 'other');
  expect((await run('keys', 'list', '--tenant', 'other')).output).toBe('there are no keys\n');
});

it('a key tells in the list when it expires, and that it has expired', async () => {
  await run('tenants', 'create', 'acme');
  await run('keys', 'mint', '--tenant', 'acme', '--expires', '2026-01-02');
  expect((await run('keys', 'list')).output).toMatch(/ good .* 2026-01-02T00:00:00Z$/m);
  now += 86_400_000;
  expect((await run('keys', 'list')).output).toContain('expired');
});

it('keys that have ended are removed with what they used, and good ones stay', async () => {
  const redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  const use = (id: string) => `sluice:{t:acme}:token-budget:${id}`;
  for (const tenant of ['acme', 'other']) await run('tenants', 'create', tenant);
  const mint = async (tenant: string, ...more: string[]) => {
    const { key } = await json('keys', 'mint', '--tenant', tenant, ...more);
    await redis.hset(use(`key:${key.id}`), 'spent', 1);
    return key.id;
  };
  const good = [await mint('acme'), await mint('acme', '--expires', '2026-01-03')];
  const ended = [await mint('acme'), await mint('acme', '--expires', '2026-01-02')];
  const elsewhere = await mint('other', '--expires', '2026-01-02');
  await redis.hset(use('tenant'), 'spent', 5);
  await run('keys', 'revoke', ended[0]);
  now += 86_400_000;
  expect((await run('keys', 'prune', '--tenant', 'acme')).output).toBe('2 keys are removed\n');
  const left = async () => (await json('keys', 'list')).map(({ id }: { id: string }) => id).sort();
  expect(await left()).toEqual([...good, elsewhere].sort());
  expect(await redis.exists(...ended.map((id) => use(`key:${id}`)))).toBe(0);
  expect(await redis.exists(use('tenant'), ...good.map((id) => use(`key:${id}`)))).toBe(3);
  expect(await json('keys', 'prune')).toEqual({ removed: 1 });
  expect(await left()).toEqual(good.toSorted());
  expect((await run('keys', 'prune')).output).toBe('0 keys are removed\n');
  expect(await run('keys', 'prune', '--tenant', 'acmee')).toMatchObject({ code: 1, output: '' });
  redis.disconnect();
});

it('limits of a tenant and of a key are set, shown with their use, and cleared', async () => {
  await run('tenants', 'create', 'acme');
  const { key } = await json('keys', 'mint', '--tenant', 'acme');
  await run('limits', 'set', '--tenant', 'acme', 'concurrency=10', 'request-rate=60/1m');
  expect(await json('limits', 'set', '--key', key.id, 'token-budget=1000')).toEqual([
    { limit: 'token-budget', policy: { max: 1000 }, used: 0, max: 1000 },
  ]);
  expect((await run('limits', 'show', '--tenant', 'acme')).output).toBe(
    'LIMIT         POLICY  USED\nconcurrency   10      0 (0 %)\nrequest-rate  60/1m   0 (0 %)\n',
  );
  expect(await json('limits', 'clear', '--tenant', 'acme', 'concurrency')).toHaveLength(1);
  expect(await json('limits', 'clear', '--key', key.id, '--all')).toEqual([]);
});

it('a limit that neither exists nor is set cannot be cleared', async () => {
  await run('tenants', 'create', 'acme');
  expect(await run('limits', 'clear', '--tenant', 'acme', 'concurency')).toMatchObject({
    code: 2,
    errors: 'sluice: there is no limit "concurency"; did you mean concurrency?\n',
  });
});

it('limits that a newer version has set are shown, left alone and cleared', async () => {
  await run('tenants', 'create', 'acme');
  await run('limits', 'set', '--tenant', 'acme', 'concurrency=10');
  await setByNewerVersion('acme', { 'word-rate': { max: 5 }, 'request-rate': { perDay: 9 } });
  expect(await run('limits', 'set', '--tenant', 'acme', 'concurrency=20')).toEqual({
    code: 0,
    output:
      'LIMIT         POLICY        USED\n' +
      'concurrency   20            0 (0 %)\n' +
      'word-rate     5             not known to this version\n' +
      'request-rate  {"perDay":9}  not known to this version\n',
    errors: '',
  });
  expect(await json('limits', 'clear', '--tenant', 'acme', 'word-rate')).toMatchObject([
    { limit: 'concurrency', used: 0, max: 20 },
    { limit: 'request-rate', policy: { perDay: 9 } },
  ]);
  expect(await json('limits', 'clear', '--tenant', 'acme', 'request-rate')).toHaveLength(1);
});

it('the kinds of limits are listed without a Redis', async () => {
  environment = { SLUICE_REDIS_URL: 'redis://127.0.0.1:1' };
  const kinds = (await json('limits', 'kinds')).map(({ name }: { name: string }) => name);
  expect(kinds).toEqual(limits.map(({ name }) => name));
});

it('a tenant with good keys is deleted only by force', async () => {
  await run('tenants', 'create', 'acme');
  await run('keys', 'mint', '--tenant', 'acme');
  expect((await run('tenants', 'delete', 'acme')).errors).toContain(
    'has 1 key that is still good; --force ends them',
  );
  expect(await json('tenants', 'delete', 'acme', '--force')).toEqual({ id: 'acme', endedKeys: 1 });
  expect([await json('tenants', 'list'), await json('keys', 'list')]).toEqual([[], []]);
});

it('a tenant that is created again begins with nothing spent', async () => {
  const redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  const limited = () => json('limits', 'set', '--tenant', 'acme', 'token-budget=1000');
  await run('tenants', 'create', 'acme');
  await limited();
  await redis.hset('sluice:{t:acme}:token-budget:tenant', 'spent', 900);
  expect(await limited()).toMatchObject([{ used: 900 }]);
  await run('tenants', 'delete', 'acme');
  await run('tenants', 'create', 'acme');
  expect(await limited()).toMatchObject([{ used: 0 }]);
  redis.disconnect();
});

/** Names a user of Redis in the environment who may do all but run these commands. */
async function forbid(...commands: string[]): Promise<() => void> {
  const redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  const denied = commands.map((command) => `-${command}`);
  await redis.call('ACL', 'SETUSER', 'limited', 'reset', 'on', '>password', '~*', '&*', '+@all', ...denied);
  redis.disconnect();
  environment.SLUICE_REDIS_URL = server.url.replace('redis://', 'redis://limited:password@');
  return () => {
    environment.SLUICE_REDIS_URL = server.url;
  };
}

it('a tenant that is deleted but not forgotten is said to be, and the same command then forgets it', async () => {
  await run('tenants', 'create', 'acme');
  await run('limits', 'set', '--tenant', 'acme', 'token-budget=1000');
  const redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  await redis.hset('sluice:{t:acme}:token-budget:tenant', 'spent', 900);
  const allow = await forbid('unlink');
  const first = await run('tenants', 'delete', 'acme');
  expect(first).toMatchObject({ code: 1, output: '' });
  expect(first.errors).toMatch(
    /^sluice: tenant acme is deleted, but what it has used is not forgotten; repeat that until there is no such tenant: .*NOPERM/,
  );
  expect(await json('tenants', 'list')).toEqual([]);
  allow();
  expect(await run('tenants', 'delete', 'acme')).toEqual({
    code: 1,
    output: '',
    errors: 'sluice: there is no tenant acme\n',
  });
  expect(await redis.exists('sluice:{t:acme}:token-budget:tenant')).toBe(0);
  redis.disconnect();
});

it('limits are said to be set even if their use cannot be read', async () => {
  await run('tenants', 'create', 'acme');
  const allow = await forbid('hvals');
  const set = await run('limits', 'set', '--tenant', 'acme', 'concurrency=10');
  expect(set).toMatchObject({ code: 1, output: '' });
  expect(set.errors).toMatch(/^sluice: the limits of tenant acme are changed, but not shown: unexpected: .+/);
  allow();
  expect(await json('limits', 'show', '--tenant', 'acme')).toMatchObject([{ limit: 'concurrency', max: 10 }]);
});

it('a key of another secret is not minted by accident', async () => {
  await run('tenants', 'create', 'acme');
  await run('keys', 'mint', '--tenant', 'acme');
  environment = { ...environment, SLUICE_KEY_SECRET: 'another secret, as long' };
  expect(await run('keys', 'mint', '--tenant', 'acme')).toMatchObject({ code: 2, output: '' });
  expect(await run('keys', 'mint', '--tenant', 'acme', '--new-secret')).toMatchObject({
    code: 0,
    errors: '',
  });
});

it('listing the keys of an unknown tenant is an error, not an empty list', async () => {
  await run('tenants', 'create', 'acme');
  expect(await run('keys', 'list', '--tenant', 'acme')).toMatchObject({
    code: 0,
    output: 'there are no keys\n',
  });
  expect(await run('keys', 'list', '--tenant', 'amce')).toMatchObject({
    ...{ code: 1, output: '' },
    errors: expect.stringContaining('there is no tenant amce'),
  });
});

it.each([
  [['kesy'], 'there is no command kesy; did you mean keys?'],
  [['keys', 'mnit'], 'there is no command keys mnit; did you mean mint?'],
  [['keys', 'mint'], '--tenant is missing'],
  [['keys', 'mint', '--tenant'], "option '--tenant <value>' argument missing"],
  [['keys', 'list', '--tenat', 'x'], "unknown option '--tenat'"],
  [['keys', 'mint', '--tenant', 'acme', '--tenant', 'other'], '--tenant is given twice'],
  [['keys', 'revoke'], 'keys revoke needs ID'],
  [['keys', 'list', 'x'], 'keys list has no use for "x"'],
  [
    ['keys', 'mint', '--tenant', 'acme', '--expires', '31.1.2027'],
    '"31.1.2027" is neither a duration such as 30d nor a date such as 2027-01-31',
  ],
  [
    ['keys', 'mint', '--tenant', 'acme', '--expires', '90'],
    '"90" is not a duration such as 90s, 1m, 24h or 30d',
  ],
  [['keys', 'mint', '--tenant', 'acme', '--expires', '2025-12-31'], '2025-12-31 is in the past'],
  [['keys', 'mint', '--tenant', 'acme', '--expires', '2027-02-31'], '"2027-02-31" is not a date'],
  [
    ['keys', 'mint', '--tenant', 'acme', '--expires', '2027-02-30T12:00Z'],
    '"2027-02-30T12:00Z" is not a date',
  ],
  [
    ['keys', 'mint', '--tenant', 'acme', '--expires', '99999999999d'],
    '99999999999d is further away than dates go',
  ],
  [['keys', 'mint', '--tenant', '-1'], "option '--tenant' argument is ambiguous"],
  [
    ['limits', 'set', '--tenant', 'acme', 'concurency=1'],
    'there is no limit "concurency"; did you mean concurrency?',
  ],
  [
    ['limits', 'set', '--tenant', 'acme', 'concurrency=1', 'concurrency=2'],
    'the limit concurrency is given twice',
  ],
  [['limits', 'set', 'concurrency=1'], 'say whom it binds: --tenant ID or --key ID'],
  [['limits', 'set', '--tenant', 'acme', 'concurrency'], '"concurrency" is not of the form limit=policy'],
  [
    ['limits', 'set', '--tenant', 'acme', 'concurrency=many'],
    '"many" is no policy of concurrency, which is written as concurrency=10',
  ],
  [['tenants', 'create', 'acme', '--name', 'Acme\nbeta'], '--name takes one line of visible characters'],
  [['tenants', 'create', 'acme', '--name', ' '], '--name takes one line of visible characters'],
  [['tenants', 'create', 'acme', '--weight', 'heavy'], '--weight takes a number'],
  [['tenants', 'create', 'acme', '--weight', '0'], 'the weight of a tenant is a number from 0.01 to 100'],
  [['keys', 'mint', '--tenant', 'acme', '--name', 'a\tb'], '--name takes one line of visible characters'],
  [
    ['keys', 'mint', '--tenant', 'acme', '--models', 'small large'],
    '--models takes names with commas between; "small large" is none',
  ],
  [
    ['keys', 'mint', '--tenant', 'acme', '--models', 'm,\x1b[1m'],
    '--models takes names with commas between; "\\u001b[1m" is none',
  ],
  [['limits', 'clear', '--tenant', 'acme'], 'name the limits to remove, or say --all'],
])('what is typed wrongly is not understood: %j', async (line, message) => {
  const { code, output, errors } = await run(...line);
  expect({ code, output, error: errors.split('\n')[0] }).toEqual({
    code: 2,
    output: '',
    error: `sluice: ${message}`,
  });
});

it('a tenant may be called help', async () => {
  expect(await json('tenants', 'create', 'help')).toMatchObject({ id: 'help' });
});

it.each([
  [['keys', 'revoke', 'key_1'], 'there is no key key_1'],
  [['keys', 'mint', '--tenant', 'nobody'], 'there is no tenant nobody'],
  [['tenants', 'delete', 'nobody'], 'there is no tenant nobody'],
  [['limits', 'show', '--key', 'key_1'], 'there is no key key_1'],
])('what does not exist is said in one line: %j', async (line, message) => {
  expect(await run(...line)).toEqual({ code: 1, output: '', errors: `sluice: ${message}\n` });
});

it('a setting that no process reads is complained of', async () => {
  environment.SLUICE_REDIS_URI = 'redis://somewhere.else';
  expect(await run('tenants', 'create', 'acme')).toEqual({
    code: 0,
    output: 'tenant acme is ready\n',
    errors: 'sluice: SLUICE_REDIS_URI is not a setting; did you mean SLUICE_REDIS_URL?\n',
  });
});

it('a missing secret is told only where one is needed', async () => {
  environment = { SLUICE_REDIS_URL: server.url };
  await run('tenants', 'create', 'acme');
  expect(await run('keys', 'list')).toMatchObject({ code: 0 });
  expect(await run('keys', 'mint', '--tenant', 'acme')).toMatchObject({
    code: 2,
    errors: expect.stringContaining('SLUICE_KEY_SECRET'),
  });
});

it('a Redis that is not there is named without its password', async () => {
  environment = { SLUICE_REDIS_URL: `redis://:hunter2@127.0.0.1:${await findFreePort()}` };
  const { code, errors } = await run('tenants', 'list');
  expect(code).toBe(1);
  expect(errors).toMatch(/^sluice: redis at 127\.0\.0\.1:\d+ is not reachable: .*ECONNREFUSED/);
  expect(errors).not.toContain('hunter2');
});

it('a Redis that no ingress would work with is refused with the remedy, before anything is changed', async () => {
  const cluster = await startCluster();
  environment.SLUICE_REDIS_URL = cluster.nodes[0]?.url ?? '';
  const { code, errors } = await run('tenants', 'create', 'acme');
  await cluster.stop();
  expect(code).toBe(1);
  expect(errors).toBe(
    'sluice: Redis is one of 3 masters of a cluster, whose URL starts with redis+cluster://\n',
  );
});

it('a Redis that takes no writes says why', async () => {
  const full = await startOwnRedis({ arguments: ['--maxmemory', '1'] });
  environment = { SLUICE_REDIS_URL: full.url };
  const { code, errors } = await run('tenants', 'create', 'acme');
  await full.stop();
  expect(code).toBe(1);
  expect(errors).toMatch(/^sluice: a tenancy record was not written: OOM .*maxmemory/);
});

it('the address of Redis may stand in a file, as that of the ingress may', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-cli-'));
  const path = join(folder, 'redis-url');
  await writeFile(path, `${server.url}\n`);
  await run('tenants', 'create', 'acme');
  environment = { SLUICE_REDIS_URL_FILE: path };
  expect(await json('tenants', 'list')).toMatchObject([{ id: 'acme' }]);
  await rm(folder, { recursive: true });
});

it.each([
  [[]],
  [['--help']],
  [['keys', '--help']],
  [['keys']],
  [['keys', 'mint', '--help']],
  [['limits', 'set', '-h']],
])('help is given without any setting: %j', async (line) => {
  environment = {};
  const { code, output } = await run(...line);
  expect(code).toBe(0);
  expect(output).toMatch(/^usage: sluice /);
});

it('the program itself runs, and its exit code says how it went', () => {
  const start = (...line: string[]) =>
    spawnSync(process.execPath, [program, ...line], {
      env: { ...environment },
      encoding: 'utf8',
    });
  expect(start('tenants', 'create', 'acme')).toMatchObject({
    status: 0,
    stdout: 'tenant acme is ready\n',
    stderr: '',
  });
  expect(start('keys', 'revoke', 'key_1')).toMatchObject({
    status: 1,
    stderr: 'sluice: there is no key key_1\n',
  });
  expect(start('nonsense')).toMatchObject({ status: 2, stdout: '' });
});

it.skipIf(!existsSync('/dev/full'))(
  'an answer that can not be written is no success, and it is said what became of the wish',
  () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [program, 'tenants', 'create', 'acme'], {
      env: { ...environment },
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'sluice: the answer could not be written (ENOSPC), but what was asked for is done\n',
    });
  },
);

it('a reader that leaves after the beginning of a list causes no error', async () => {
  const errors: string[] = [];
  const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const surroundings: Surroundings = {
    environment,
    now: Date.now,
    write: () => Promise.reject(closed),
    writeError: (text) => errors.push(text),
  };
  expect(await runCli(['keys', 'list'], surroundings)).toBe(0);
  expect(errors).toEqual([]);
  expect(await runCli(['tenants', 'create', 'acme'], surroundings)).toBe(1);
  expect(errors).toEqual([
    'sluice: the answer could not be written (EPIPE), but what was asked for is done\n',
  ]);
});
