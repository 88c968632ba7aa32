import { createKeyStore } from '@sluice/tenancy';
import { startOwnRedis, startProcess, until } from '@sluice/testing';
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
    expect.stringContaining('the keys in this Redis are of another SLUICE_KEY_SECRET'),
  ]);
  client.disconnect();
});
