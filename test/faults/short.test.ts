import { afterAll, beforeAll, expect, test } from 'vitest';
import { isComplete } from './checker/check-answers.ts';
import { check } from './checker/checker.ts';
import { replayThroughSdks } from './clients/sdk-replay.ts';
import { planHeapLoad } from './figures/under-faults.ts';
import { Installation } from './installation/installation.ts';
import { allFaults } from './nemesis/fault-kinds.ts';
import { planWorkload } from './plan.ts';
import { runUnderFaults } from './run.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start({
    ...{ ingresses: 2, workers: 2, tenants: 50, budget: 10_000_000 },
    redisArguments: ['--appendonly', 'yes', '--appendfsync', 'always', '--enable-debug-command', 'yes'],
  });
}, 240_000);
afterAll(() => installation.stop());

const seed = Number(process.env.FAULTS_SEED ?? 1);

test('nothing is cut short, doubled, mixed up, leaked or charged twice, whatever breaks', async () => {
  const plans = planWorkload({ requests: 400, tenants: 50, ingresses: 2, seed });
  const log = await runUnderFaults(installation, {
    ...{ plans, concurrency: 30, kinds: allFaults, seed, faults: 14, lanes: 2 },
    repeatUntilFaultsAreOver: true,
    heapLoad: planHeapLoad({ requests: 200, seed }),
  });
  expect([...check(log), ...(await replayThroughSdks(log.observations))]).toEqual([]);
  expect(log.faults.length).toBeGreaterThanOrEqual(14);
  const complete = log.observations.filter(isComplete);
  expect(complete.length).toBeGreaterThan(0);
  expect(complete.filter(({ standIn }) => standIn !== undefined).length).toBeGreaterThan(0);
}, 600_000);
