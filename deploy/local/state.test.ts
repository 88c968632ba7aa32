import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyStore } from '@sluice/tenancy';
import { startRedis, type TestRedis } from '@sluice/testing';
import { openRedis } from '@sluice/transport';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureLocalKey } from './local-key.ts';
import { openState } from './state.ts';

const parent = mkdtempSync(join(tmpdir(), 'sluice-state-'));
let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis({ own: true });
});
afterAll(async () => {
  await redis.stop();
  rmSync(parent, { recursive: true });
});

describe('openState', () => {
  it('keeps one secret over all starts', () => {
    const folder = join(parent, 'kept');
    const { keySecret } = openState(folder);
    expect(keySecret).toMatch(/^[0-9a-f]{64}$/);
    expect(openState(folder).keySecret).toBe(keySecret);
  });

  it('names the file of a secret that a full disk has left empty', () => {
    const folder = join(parent, 'empty');
    openState(folder);
    const file = join(folder, 'key-secret');
    writeFileSync(file, '');
    expect(() => openState(folder)).toThrow(`${file} is empty; delete it`);
  });

  it('lets only its owner read', () => {
    const state = openState(join(parent, 'private'));
    const path = state.write('key', 'sk-secret');
    expect(readFileSync(path, 'utf8')).toBe('sk-secret');
    const modes = [state.folder, path, join(state.folder, 'key-secret')].map(
      (name) => statSync(name).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });
});

describe('ensureLocalKey', () => {
  const secret = 'a secret of at least 16 characters';

  beforeEach(() => withRedis((client) => client.flushdb()));

  it('gives the same credential at every start, and after Redis lost everything', async () => {
    const first = await ensureLocalKey(redis.url, secret);
    expect(first).toMatch(/^sk-/);
    expect(await ensureLocalKey(redis.url, secret)).toBe(first);
    await withRedis((client) => client.flushdb());
    expect(await ensureLocalKey(redis.url, secret)).toBe(first);
  });

  it('makes no second key at the second start', async () => {
    await ensureLocalKey(redis.url, secret);
    await ensureLocalKey(redis.url, secret);
    await withRedis(async (client) => {
      const keys = createKeyStore({ redis: client, secret });
      expect(await keys.directory.listKeys()).toHaveLength(1);
    });
  });

  it('gives another credential when the old one was revoked', async () => {
    const first = await ensureLocalKey(redis.url, secret);
    await withRedis(async (client) => {
      const { directory } = createKeyStore({ redis: client, secret });
      for (const key of await directory.listKeys()) await directory.revoke(key.id);
    });
    expect(await ensureLocalKey(redis.url, secret)).not.toBe(first);
  });

  it('refuses a Redis whose keys are of another secret, and leaves it as it was', async () => {
    const first = await ensureLocalKey(redis.url, secret);
    const other = 'another secret of 16 characters';
    await expect(ensureLocalKey(redis.url, other)).rejects.toThrow(
      /^this Redis holds keys of another SLUICE_KEY_SECRET; give that one, or another Redis or database$/,
    );
    await withRedis(async (client) => {
      const { directory } = createKeyStore({ redis: client, secret: other });
      expect(await directory.knowsSecret()).toBe(false);
    });
    expect(await ensureLocalKey(redis.url, secret)).toBe(first);
  });

  it('gives another credential for another secret', async () => {
    const first = await ensureLocalKey(redis.url, secret);
    await withRedis((client) => client.flushdb());
    expect(await ensureLocalKey(redis.url, 'another secret of 16 characters')).not.toBe(first);
  });
});

async function withRedis(work: (client: ReturnType<typeof openRedis>) => Promise<unknown>): Promise<void> {
  const client = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  try {
    await work(client);
  } finally {
    client.disconnect();
  }
}
