import { setTimeout as sleep } from 'node:timers/promises';
import { formats } from '../../support/call.ts';
import { isComplete } from '../checker/check-answers.ts';
import { formatFailures } from '../checker/endings.ts';
import type { Figure } from '../figure.ts';
import { Installation } from '../installation/installation.ts';
import { keepBusy, plainPlan } from './scenario.ts';

/**
 * Restarts every process with SIGTERM, one after the other, under load. Clients go to an ingress that is ready, as a
 * load balancer would send them. Checkouts are as `InstallationOptions.checkouts`.
 */
export async function measureRollingRestart(checkouts: readonly string[]): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({
    ...{ ingresses: 2, workers: 2, tenants: 1, checkouts },
    environment: { SLUICE_DRAIN_LIMIT_MS: '10000' },
  });
  stack.defer(() => installation.stop());
  let restarting = -1;
  const busy = keepBusy(installation, 30, (index) =>
    plainPlan(index, {
      ...{ tokens: 100, format: formats[index % 3] ?? 'openai', isStream: index % 4 !== 0 },
      ingress: restarting >= 0 ? 1 - restarting : index % 2,
    }),
  );
  await sleep(1_000);
  for (const member of installation.members) {
    if (member.role === 'ingress') restarting = member.index;
    // The load balancer learns of it first, then the process gets the signal.
    await sleep(100);
    await member.restart('SIGTERM');
    restarting = -1;
    await sleep(1_000);
  }
  const observations = await busy.stop();
  const failed = observations.filter((observation) => !isComplete(observation)).length;
  return [
    {
      test: `rolling restart of all processes under ${observations.length} requests`,
      target: '0 failed',
      measured: `${failed} failed${formatFailures(observations)}`,
      isMet: failed === 0,
    },
  ];
}
