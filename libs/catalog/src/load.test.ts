import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadCatalog } from './load.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-catalog-'));
  path = join(folder, 'sluice.yaml');
});
afterEach(() => rm(folder, { recursive: true }));

it('reads the file, as the environment changes it', async () => {
  await writeFile(path, 'pools: { gpu: { backend: { engine: upstream } } }\nmodels: { m: { pool: gpu } }\n');
  const catalog = await loadCatalog(path, {
    SLUICE_SET__POOLS__GPU__MAX_WAITING: '7',
    SLUICE_SET__MODELS__M__REQUEST_TIMEOUT_MS: '100',
  });
  expect(catalog.pools.get('gpu')?.maxWaiting).toBe(7);
  expect(catalog.models.get('m')?.requestTimeoutMs).toBe(100);
  expect(catalog.resolve('m')?.pool).toBe('gpu');
  expect(catalog.overridden).toEqual(['models.m.requestTimeoutMs', 'pools.gpu.maxWaiting']);
});

it('takes the built-in settings without a file, as the environment changes them', async () => {
  const catalog = await loadCatalog(undefined, { SLUICE_SET__MODELS__MINE: '{"pool":"sim"}' });
  expect([...catalog.models.keys()]).toEqual(['sim', 'mine']);
  expect(catalog.overridden).toEqual(['models.mine']);
});

it('says where a mistake is', async () => {
  const wrong = { SLUICE_SET__MODELS__MINE: '{"pool":"smi"}' };
  await expect(loadCatalog(undefined, wrong)).rejects.toThrow(
    /^the built-in settings as the environment changes them: 1 mistake\n {2}models\.mine\.pool: /,
  );
  await writeFile(path, 'pools: {}\n');
  await expect(loadCatalog(path, {})).rejects.toThrow(`${path}: 1 mistake\n  models: is missing`);
});

it('says that a mistake may be of the environment, where that changes the file', async () => {
  await writeFile(path, 'pools: { gpu: { backend: { engine: upstream } } }\nmodels: { m: { pool: gpu } }\n');
  await expect(loadCatalog(path, { SLUICE_SET__POOLS__GPUS__MAX_WAITING: '7' })).rejects.toThrow(
    `${path} as SLUICE_SET__… changes it: 1 mistake\n  pools.gpus.backend: is missing`,
  );
});

it('lets the engines check their options', async () => {
  const check = () => [{ path: 'pools.sim.backend.slots', message: 'is too much' }];
  await expect(loadCatalog(undefined, {}, { check, spellings: [] })).rejects.toThrow(
    'pools.sim.backend.slots: is too much',
  );
});

it('says which file is empty', async () => {
  await writeFile(path, '# nothing yet\n');
  await expect(loadCatalog(path, {})).rejects.toThrow(`${path} is empty; pools and models`);
});
