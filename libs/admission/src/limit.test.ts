import { SluiceError } from '@sluice/canonical';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Claim } from './claim.ts';
import { defineLimit, type PolicyCheck } from './limit.ts';
import { patience } from './retry-after.ts';

const claim: Claim = {
  requestId: 'request-1',
  tenant: 'acme',
  keyId: 'key_1',
  weight: 1,
  model: 'qwen-7b',
  pool: 'gpu',
  jobs: 3,
  estimatedInputTokens: 40,
  limits: { tenant: {}, key: {} },
  poolPolicy: { slots: 10, waitBudgetMs: 0 },
};

function jobsLimit(check: PolicyCheck) {
  return defineLimit({
    name: 'jobs',
    summary: 'How many generations may be asked for.',
    example: '10',
    policy: z.json(),
    check: () => check,
    amount: ({ jobs }) => jobs,
    refuse: (_policy, { waitMs }) =>
      new SluiceError('rate-limited', 'too many generations', { retryAfterMs: patience(waitMs) }),
  }).bind({});
}

it.each<[string, PolicyCheck, number]>([
  ['a rate of what is asked', { primitive: 'rate', max: 10, periodMs: 1_000, settles: false }, 0],
  ['a rate of what is spent', { primitive: 'rate', max: 10, periodMs: 1_000, settles: true }, 3],
  ['a lease', { primitive: 'lease', max: 10 }, 3],
  ['a budget', { primitive: 'budget', max: 10 }, 3],
])('of %s, a request that turns to another model takes what that one needs', (_what, check, needed) => {
  const limit = jobsLimit(check);
  const estimate = { inputTokens: 40, totalTokens: 100 };
  expect(limit.amount(claim, estimate)).toBe(3);
  expect(limit.amount({ ...claim, isCounted: true }, estimate)).toBe(needed);
});

it('what never fits is not worth another try, even if the limit does not say so', () => {
  const { refuse } = jobsLimit({ primitive: 'lease', max: 10 });
  const refused = { scope: 'key', amount: 11, level: 0 } as const;
  expect(refuse(refused).options).toEqual({ refusedBy: 'jobs', retryable: false });
  expect(refuse({ ...refused, waitMs: 2_000 }).options).toEqual({ refusedBy: 'jobs', retryAfterMs: 2_000 });
});
