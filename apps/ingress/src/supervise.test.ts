import { startProcess, startRedis, until } from '@sluice/testing';
import { expect, it } from 'vitest';

it('several processes on one port report the warnings of their settings once', async () => {
  await using redis = await startRedis();
  await using supervisor = await startProcess('apps/ingress/src/main.ts', {
    environment: {
      SLUICE_REDIS_URL: redis.url,
      SLUICE_KEY_SECRET: 'a secret of the tests',
      SLUICE_PORT: '0',
      SLUICE_OPS_PORT: '0',
      SLUICE_PROCESSES: '2',
      SLUICE_STALL_LIMIT: '9000',
    },
  });
  const linesWith = (text: string) => supervisor.lines.filter((line) => line.includes(text));
  // What the supervisor logs about a process may come before that process writes anything.
  await until(() => linesWith('"serving"').length === 2, { what: 'the lines of both processes' });
  expect(linesWith('is not a setting')).toEqual([
    expect.stringContaining('SLUICE_STALL_LIMIT is not a setting; did you mean SLUICE_STALL_LIMIT_MS?'),
  ]);
});

it('an ingress whose seat is empty in the environment is a supervisor, as one without a seat is', async () => {
  await using redis = await startRedis();
  await using supervisor = await startProcess('apps/ingress/src/main.ts', {
    environment: {
      SLUICE_REDIS_URL: redis.url,
      SLUICE_KEY_SECRET: 'a secret of the tests',
      SLUICE_PORT: '0',
      SLUICE_OPS_PORT: '0',
      SLUICE_PROCESSES: '2',
      SLUICE_PROCESS_SEAT: '',
    },
  });
  expect(supervisor.ready.role).toBe('supervisor');
});
