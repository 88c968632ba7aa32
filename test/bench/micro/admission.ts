import type { Json } from '@sluice/canonical';
import { type Clock, systemClock } from '@sluice/runtime';
import { startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { importLibrary } from './checkout.ts';
import type { Ready, Subject } from './subject.ts';

type Admission = typeof import('@sluice/admission');

const width = 64;
const openRequests = 5_000;

const policies = {
  'request-rate': { max: 1e9, periodMs: 60_000 },
  'token-rate': { max: 1e12, periodMs: 60_000 },
};

/**
 * A request admitted and settled, 64 at the same time, without a policy and with two of its tenant; and the leases of
 * 5,000 open requests with these two, renewed once, as an ingress does every 5 s.
 */
export const admissions: readonly Subject[] = [
  { name: 'admission', unit: 'request', open: (root) => openPassing(root, {}) },
  { name: 'admission, 2 limits', unit: 'request', open: (root) => openPassing(root, policies) },
  { name: 'renewal, 2 limits', unit: 'request', open: openStaying },
];

type Tenant = Record<string, Json>;

async function openPassing(root: string, tenant: Tenant): Promise<Ready> {
  const { admit, redis, close } = await openAdmission(root, tenant);
  const scripts = await countScripts(redis);
  let passed = 0;
  const one = async () => {
    const ticket = await admit();
    await ticket.settle({ usage: { inputTokens: 90, outputTokens: 100 }, durationMs: 100 });
    passed += 1;
  };
  return {
    operations: width,
    async batch() {
      await Promise.all(Array.from({ length: width }, one));
    },
    finish: scripts.finish,
    facts: () => scripts.per(passed),
    close,
  };
}

async function openStaying(root: string): Promise<Ready> {
  let runRound: (() => void) | undefined;
  const clock: Clock = {
    ...systemClock,
    after(_, callback) {
      runRound = callback;
      return { cancel: () => undefined, unref: () => undefined, [Symbol.dispose]: () => undefined };
    },
  };
  const { admission, admit, redis, close } = await openAdmission(root, policies, clock);
  for (let open = 0; open < openRequests; open += width) {
    await Promise.all(Array.from({ length: Math.min(width, openRequests - open) }, admit));
  }
  const scripts = await countScripts(redis);
  let renewed = 0;
  return {
    operations: openRequests,
    async batch() {
      runRound?.();
      // It waits for the round, and may be started again.
      await admission.close();
      await admission.start();
      renewed += openRequests;
    },
    finish: scripts.finish,
    facts: () => scripts.per(renewed),
    close,
  };
}

async function openAdmission(root: string, tenant: Tenant, clock = systemClock) {
  const { createAdmission } = await importLibrary<Admission>(root, 'admission');
  const server = await startOwnRedis();
  const redis = new Redis(server.url);
  const admission = createAdmission({ redis, clock });
  await admission.start();
  const limits = { tenant, key: {} };
  let number = 0;
  return {
    admission,
    redis,
    admit() {
      number += 1;
      return admission.admit({
        ...{
          requestId: `r${number}`,
          tenant: 'acme',
          keyId: 'k1',
          weight: 1,
          model: 'm',
          pool: 'p',
          jobs: 1,
        },
        ...{ estimatedInputTokens: 100, maxOutputTokens: 200, limits },
        poolPolicy: { slots: 100_000, waitBudgetMs: 60_000 },
      });
    },
    async close() {
      await admission.close();
      redis.disconnect();
      await server.stop();
    },
  };
}

/** Counts the scripts that Redis runs from now on, until `finish`. */
async function countScripts(redis: Redis) {
  const before = await readUse(redis);
  let after = before;
  return {
    async finish() {
      after = await readUse(redis);
    },
    per: (operations: number) => ({
      scripts: (after.calls - before.calls) / operations,
      'µs of Redis': (after.us - before.us) / operations,
    }),
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
