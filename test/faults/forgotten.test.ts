import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isComplete } from './checker/check-answers.ts';
import { runLoad } from './clients/load.ts';
import { Installation } from './installation/installation.ts';
import { planWorkload } from './plan.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start({ ingresses: 1, workers: 1, tenants: 1 });
});
afterAll(() => installation.stop());

/** Sends requests, one after the other, until an answer is complete. */
async function answerInTheEnd(seed: number): Promise<boolean> {
  const plans = planWorkload({
    ...{ requests: 1_000, tenants: 1, ingresses: 1, seed },
    ...{ upstreamShare: 0, hasMisbehaviour: false, longestTokens: 30 },
  }).values();
  const isAnswered = async (): Promise<boolean> => {
    const [observation] = await runLoad(installation, { plans: [...plans.take(1)], concurrency: 1 });
    return observation !== undefined && isComplete(observation);
  };
  return until(isAnswered, { timeoutMs: 30_000, intervalMs: 100 });
}

test('an ingress comes back by itself when a middlebox forgot its connections to Redis', async () => {
  for (const { redisProxy } of installation.ingresses) redisProxy.forgetAll();
  expect(await answerInTheEnd(1)).toBe(true);
});

test('a worker comes back by itself when a middlebox forgot its connections to Redis', async () => {
  for (const { redisProxy } of installation.workers) redisProxy.forgetAll();
  expect(await answerInTheEnd(2)).toBe(true);
});
