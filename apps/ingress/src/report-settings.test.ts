import { runCheck } from '@sluice/testing';
import { expect, it } from 'vitest';

const check = (models: object, environment = {}) =>
  runCheck(
    'apps/ingress/src/main.ts',
    { pools: { p: { backend: { engine: 'simulated' } } }, models },
    { SLUICE_KEY_SECRET: 'a secret of the tests', ...environment },
  );

it('an ingress that only checks its settings says what there is, and what is probably not intended', async () => {
  const environment = { SLUICE_SET__POOLS__P__WAIT_BUDGET_MS: '9', SLUICE_PRT: '1' };
  expect(await check({ m: { pool: 'p' }, n: { pool: 'p' } }, environment)).toEqual({
    code: 0,
    output:
      'sluice ingress: valid settings: 1 pool, 2 models; the environment sets pools.p.waitBudgetMs; ' +
      'backends are checked by workers\n',
    errors: expect.stringMatching(/^warning: SLUICE_PRT is not a setting.*\n$/),
  });
});

it('or all mistakes of the file', async () => {
  expect(await check({ m: { pool: 'q' }, n: { pool: 'p', contextTokens: 'x' } })).toEqual({
    code: 1,
    output: '',
    errors: expect.stringMatching(/^sluice ingress: .*2 mistakes\n.*models\..*\n.*models\..*\n$/),
  });
});

it('or that there is no operations port for each of its processes', async () => {
  const environment = { SLUICE_PROCESSES: '9', SLUICE_OPS_PORT: '65530' };
  expect(await check({ m: { pool: 'p' } }, environment)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('leaves no port for each of 9 processes'),
  });
});
