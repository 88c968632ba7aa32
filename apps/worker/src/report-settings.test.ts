import { runCheck } from '@sluice/testing';
import { expect, it } from 'vitest';

const check = (backend: object, environment = {}) => {
  const pools = { fake: { backend: { engine: 'simulated' } }, real: { backend } };
  const settings = { pools, models: { one: { pool: 'fake' }, two: { pool: 'real' } } };
  return runCheck('apps/worker/src/main.ts', settings, environment);
};

it('a worker that only checks its settings names the pools that it would serve', async () => {
  const backend = { engine: 'upstream', baseUrl: 'http://127.0.0.1:1/v1' };
  expect(await check(backend, { SLUICE_POOLS: 'real' })).toEqual({
    code: 0,
    output: 'sluice worker: valid settings: 2 pools, 2 models; serves real\n',
    errors: '',
  });
});

it('or the mistakes in the options of its engines', async () => {
  const errors = expect.stringMatching(/^sluice worker: .*1 mistake\n.*pools\.real\.backend\.baseUrl.*\n$/);
  expect(await check({ engine: 'upstream' })).toEqual({ code: 1, output: '', errors });
});
