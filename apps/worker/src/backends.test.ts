import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadBackends } from './backends.ts';

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-backends-'));
  file = join(folder, 'sluice.json');
  const upstream = {
    engine: 'upstream',
    baseUrl: 'http://127.0.0.1:1/v1',
    credential: { env: 'UPSTREAM_KEY' },
  };
  const pools = { fake: { backend: { engine: 'simulated' } }, real: { backend: upstream } };
  await writeFile(file, JSON.stringify({ pools, models: { one: { pool: 'fake' }, two: { pool: 'real' } } }));
});
afterAll(() => rm(folder, { recursive: true }));

const load = (pools: string[] | undefined, environment = {}) =>
  loadBackends({ SLUICE_CONFIG: file, SLUICE_POOLS: pools }, environment);
const namesOf = async (loading: ReturnType<typeof load>) =>
  (await loading).backends.map(({ pool }) => pool.name);

describe('a worker', () => {
  it('serves every pool of its settings if it is given no list', async () => {
    expect(await namesOf(load(undefined, { UPSTREAM_KEY: 'x' }))).toEqual(['fake', 'real']);
  });

  it('needs nothing of the pools that it does not serve', async () => {
    expect(await namesOf(load(['fake']))).toEqual(['fake']);
    await expect(load(['real'])).rejects.toThrow('pools.real.backend.credential: the environment variable');
  });

  it('knows how the options of every engine are spelt, which its file need not have', async () => {
    const loading = load(['local'], {
      SLUICE_SET__POOLS__LOCAL__BACKEND__ENGINE: 'upstream',
      SLUICE_SET__POOLS__LOCAL__BACKEND__BASE_URL: 'http://127.0.0.1:1/v1',
      SLUICE_SET__POOLS__LOCAL__BACKEND__MEDIA__MAX_REQUEST_BYTES: '1000',
      SLUICE_SET__POOLS__FAKE__BACKEND__TTFT_MS: '5',
      SLUICE_SET__MODELS__THREE__POOL: 'local',
    });
    expect(await namesOf(loading)).toEqual(['local']);
    expect((await loading).catalog.overridden).toEqual([
      'models.three.pool',
      'pools.fake.backend.ttftMs',
      'pools.local.backend.baseUrl',
      'pools.local.backend.engine',
      'pools.local.backend.media.maxRequestBytes',
    ]);
  });

  it('serves a pool that is listed twice only once', async () => {
    expect(await namesOf(load(['fake', 'fake']))).toEqual(['fake']);
  });

  it('refuses a pool that does not exist, and names those that do', async () => {
    await expect(load(['fake', 'reel', 'cloud'])).rejects.toThrow(
      'environment: 2 mistakes\n' +
        '  SLUICE_POOLS: there is no pool "reel"; did you mean real?\n' +
        '  SLUICE_POOLS: there is no pool "cloud"; known: fake, real',
    );
  });
});
