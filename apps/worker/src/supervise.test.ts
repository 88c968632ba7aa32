import { findFreePort, startProcess, startRedis, until } from '@sluice/testing';
import { expect, it } from 'vitest';

it('a worker process that replaces a killed one counts the restart', async () => {
  await using redis = await startRedis();
  const opsPort = await findFreePort();
  await using supervisor = await startProcess('apps/worker/src/main.ts', {
    environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: String(opsPort) },
  });
  expect(await restartsOf(opsPort)).toBe(0);
  process.kill(supervisor.ready.workers?.[0]?.pid ?? 0, 'SIGKILL');
  await until(async () => (await restartsOf(opsPort)) === 1, { what: 'the count of the successor' });
});

it('a worker that is asked for its help says that it takes no arguments, instead of taking jobs', async () => {
  await using redis = await startRedis();
  const environment = { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0' };
  const started = startProcess('apps/worker/src/main.ts', { environment, arguments: ['--help'] });
  await expect(started).rejects.toThrow('sluice worker: takes no arguments');
});

it('a supervisor warns of a name that no process reads, and not of one that an ingress reads', async () => {
  await using redis = await startRedis();
  await using supervisor = await startProcess('apps/worker/src/main.ts', {
    environment: {
      SLUICE_REDIS_URL: redis.url,
      SLUICE_OPS_PORT: '0',
      SLUICE_DRAIN_LIMIT: '9',
      SLUICE_STALL_LIMIT_MS: '9000',
    },
  });
  const warnings = await until(
    () => {
      const found = supervisor.lines.filter((line) => line.includes('is not a setting'));
      return found.length > 0 && found;
    },
    { what: 'a warning' },
  );
  expect(warnings).toEqual([
    expect.stringContaining('SLUICE_DRAIN_LIMIT is not a setting; did you mean SLUICE_DRAIN_LIMIT_MS?'),
  ]);
});

it('a worker process logs its settings once, without the password', async () => {
  await using redis = await startRedis();
  await using supervisor = await startProcess('apps/worker/src/main.ts', {
    environment: {
      SLUICE_REDIS_URL: redis.url,
      SLUICE_OPS_PORT: '0',
      SLUICE_SET__POOLS__SIM__BACKEND__SLOTS: '3',
    },
  });
  const lineOf = (msg: string) =>
    supervisor.lines.map((line) => JSON.parse(line)).filter((line) => line.msg === msg);
  // What the supervisor logs about a process may come before that process writes anything.
  await until(() => lineOf('serving').length > 0, { what: 'the line of a process that serves' });
  expect(lineOf('starting')).toEqual([
    expect.objectContaining({
      version: expect.any(String),
      config: expect.objectContaining({ SLUICE_REDIS_URL: '***', SLUICE_PROCESSES: 1 }),
      overridden: ['pools.sim.backend.slots'],
    }),
  ]);
  expect(lineOf('serving')).toEqual([
    expect.objectContaining({ pools: ['sim'], redis: redis.url.replace('redis://', '') }),
  ]);
});

it('a worker whose id is empty in the environment is a supervisor, as one without an id is', async () => {
  await using redis = await startRedis();
  await using supervisor = await startProcess('apps/worker/src/main.ts', {
    environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0', SLUICE_WORKER_ID: '' },
  });
  expect(supervisor.ready.role).toBe('supervisor');
});

/** Undefined while nobody answers, because the killed process is gone and the next one is not there yet. */
async function restartsOf(opsPort: number): Promise<number | undefined> {
  const text = await fetch(`http://127.0.0.1:${opsPort}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
  const [, value] = /^sluice_worker_restarts_total (\d+)$/m.exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}
