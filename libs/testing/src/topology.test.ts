import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { ask, startSentinel } from './topology.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each([false, true])(
  'a sentinel starts where temporary folders have a space, encrypted: %s',
  async (isEncrypted) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice testing '));
    vi.stubEnv('TMPDIR', folder);
    const { nodes, stop } = await startSentinel({ isEncrypted });
    expect(await ask(nodes[1]?.port ?? 0, 'INFO', 'replication')).toContain('role:slave');
    await stop();
    await rm(folder, { recursive: true });
  },
);
