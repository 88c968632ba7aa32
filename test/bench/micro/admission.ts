import type { Json } from '@sluice/canonical';
import { startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { importLibrary } from './checkout.ts';
import type { Ready, Subject } from './subject.ts';

type Admission = typeof import('@sluice/admission');

const width = 64;

const policies = {
  'request-rate': { max: 1e9, periodMs: 60_000 },
  'token-rate': { max: 1e12, periodMs: 60_000 },
};

/** A request admitted and settled, 64 at the same time: without a policy, and with two of its tenant. */
export const admissions: readonly Subject[] = [
  { name: 'admission', unit: 'request', open: (root) => open(root, {}) },
  { name: 'admission, 2 limits', unit: 'request', open: (root) => open(root, policies) },
];

async function open(root: string, tenant: Record<string, Json>): Promise<Ready> {
  const { createAdmission } = await importLibrary<Admission>(root, 'admission');
  const server = await startOwnRedis();
  const redis = new Redis(server.url);
  const admission = createAdmission({ redis });
  await admission.start();
  const limits = { tenant, key: {} };
  let number = 0;
  let used = { calls: 0, us: 0 };
  const one = async () => {
    number += 1;
    const ticket = await admission.admit({
      ...{ requestId: `r${number}`, tenant: 'acme', keyId: 'k1', weight: 1, model: 'm', pool: 'p', jobs: 1 },
      ...{ estimatedInputTokens: 100, maxOutputTokens: 200, limits },
      poolPolicy: { slots: 100_000, waitBudgetMs: 60_000 },
    });
    await ticket.settle({ usage: { inputTokens: 90, outputTokens: 100 }, durationMs: 100 });
  };
  return {
    operations: width,
    async batch() {
      await Promise.all(Array.from({ length: width }, one));
    },
    async finish() {
      used = await readUse(redis);
    },
    facts: () => ({ scripts: used.calls / number, 'µs of Redis': used.us / number }),
    async close() {
      await admission.close();
      redis.disconnect();
      await server.stop();
    },
  };
}

/** How many scripts Redis has run, and how long it says that they took. */
async function readUse(redis: Redis): Promise<{ calls: number; us: number }> {
  const text = await redis.info('commandstats');
  const found = [...text.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+),usec=(\d+)/gm)];
  return {
    calls: found.reduce((sum, [, calls]) => sum + Number(calls), 0),
    us: found.reduce((sum, [, , us]) => sum + Number(us), 0),
  };
}
