import { createKeyStore } from '@sluice/tenancy';
import { ask, findFreePort, startOwnRedis, startProcess, until } from '@sluice/testing';
import { openRedis } from '@sluice/transport';
import { expect, it } from 'vitest';

it('an ingress whose secret is not the one of the stored keys says why it will refuse them all', async () => {
  await using redis = await startOwnRedis();
  const client = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  const { directory } = createKeyStore({ redis: client, secret: 'the secret of before' });
  await directory.upsertTenant('acme');
  await directory.mint({ tenant: 'acme' });
  const start = (secret: string) =>
    startProcess('apps/ingress/src/main.ts', {
      environment: {
        SLUICE_REDIS_URL: redis.url,
        SLUICE_KEY_SECRET: secret,
        SLUICE_PORT: '0',
        SLUICE_OPS_PORT: '0',
      },
    });
  const warningsOf = async (secret: string) => {
    await using ingress = await start(secret);
    await until(() => ingress.lines.some((line) => line.includes('"serving"')), { what: 'an ingress' });
    return ingress.lines.filter((line) => line.includes('"warn"'));
  };
  expect(await warningsOf('the secret of before')).toEqual([]);
  expect(await warningsOf('the secret of today')).toEqual([
    expect.stringContaining('the newest keys in this Redis are of another SLUICE_KEY_SECRET'),
  ]);
  client.disconnect();
});

it('an ingress whose Redis loses its data says that the keys are gone', async () => {
  await using redis = await startOwnRedis();
  const secret = 'a secret of the tests';
  const client = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  const { directory } = createKeyStore({ redis: client, secret });
  await directory.upsertTenant('acme');
  await directory.mint({ tenant: 'acme' });
  client.disconnect();
  await using ingress = await startProcess('apps/ingress/src/main.ts', {
    environment: {
      SLUICE_REDIS_URL: redis.url,
      SLUICE_KEY_SECRET: secret,
      SLUICE_PORT: '0',
      SLUICE_OPS_PORT: '0',
    },
  });
  const metrics = async () => (await fetch(`http://127.0.0.1:${ingress.ready.opsPort}/metrics`)).text();
  expect(await metrics()).toContain('sluice_keys_known 1\n');
  await ask(redis.port, 'FLUSHALL');
  await until(() => ingress.lines.some((line) => line.includes('redis has lost all keys')), {
    what: 'a warning',
  });
  expect(await metrics()).toContain('sluice_keys_known 0\n');
});

it('an ingress that starts while Redis is full serves, and refuses requests for that reason', async () => {
  await using redis = await startOwnRedis();
  const secret = 'a secret of the tests';
  const client = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  const { directory } = createKeyStore({ redis: client, secret });
  await directory.upsertTenant('acme');
  const { credential } = await directory.mint({ tenant: 'acme' });
  client.disconnect();
  await ask(redis.port, 'CONFIG', 'SET', 'maxmemory', '1');
  const environment = { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0' };
  await using _worker = await startProcess('apps/worker/src/main.ts', { environment });
  await using ingress = await startProcess('apps/ingress/src/main.ts', {
    environment: { ...environment, SLUICE_KEY_SECRET: secret, SLUICE_PORT: '0' },
  });
  const { port, opsPort } = ingress.ready;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'hello' }] }),
  });
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain('the queue is short of memory');
  const metrics = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  expect(metrics).toContain('sluice_refusals_total{limit="memory"} 1\n');
  expect(metrics).toContain('sluice_redis_up 1\n');
  // One byte is allowed.
  expect(Number(/^sluice_redis_memory_ratio (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(100_000);
  expect((await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status).toBe(200);
});

it('an ingress whose two ports are one says which setting is the mistake', async () => {
  const port = String(await findFreePort());
  const started = startProcess('apps/ingress/src/main.ts', {
    environment: { SLUICE_KEY_SECRET: 'a secret of the tests', SLUICE_PORT: port, SLUICE_OPS_PORT: port },
  });
  await expect(started).rejects.toThrow(`SLUICE_OPS_PORT: is SLUICE_PORT as well (${port})`);
});

it('an ingress refuses arguments instead of ignoring them, and does not repeat what may be secret', async () => {
  const failed = await startProcess('apps/ingress/src/main.ts', {
    environment: { SLUICE_KEY_SECRET: 'a secret of the tests', SLUICE_REDIS_URL: 'redis://127.0.0.1:1' },
    arguments: ['--redis', 'redis://:hush@127.0.0.1'],
  }).catch((error: Error) => error.message);
  expect(failed).toContain('sluice ingress: takes no arguments but --check');
  expect(failed).not.toContain('hush');
});
