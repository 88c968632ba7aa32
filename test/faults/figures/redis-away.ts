import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@sluice/testing';
import { formats } from '../../support/call.ts';
import { isComplete } from '../checker/check-answers.ts';
import { formatFailures } from '../checker/endings.ts';
import type { Figure } from '../figure.ts';
import { Installation } from '../installation/installation.ts';
import type { Observation } from '../observation.ts';
import { formatMs, percentile } from '../percentile.ts';
import { expectedText } from '../plan.ts';
import { keepBusy, openStreams, plainPlan, send } from './scenario.ts';

const keepsData = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Stops Redis: measures how fast new requests get a 503, and how fast they are served when Redis is back. */
export async function measureOutage(outages: readonly number[]): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({
    ...{ ingresses: 1, workers: 1, tenants: 1, redisArguments: keepsData },
  });
  stack.defer(() => installation.stop());
  const refusals: number[] = [];
  const recoveries: number[] = [];
  let others = 0;
  for (const outageMs of outages) {
    await installation.redis.down();
    const downAt = performance.now();
    while (performance.now() - downAt < outageMs) {
      const observation = await send(installation, plainPlan(0, { tokens: 3, gapMs: 1 }));
      if (observation.status === 503) refusals.push(observation.endedAt - observation.startedAt);
      else others += 1;
      await sleep(100);
    }
    await installation.redis.up();
    const backAt = performance.now();
    await until(async () => isComplete(await send(installation, plainPlan(0, { tokens: 3, gapMs: 1 }))), {
      timeoutMs: 60_000,
    });
    recoveries.push(performance.now() - backAt);
  }
  const [slowest, latest] = [percentile(refusals, 1), percentile(recoveries, 1)];
  return [
    {
      test: `Redis down → 503 (${refusals.length} requests)`,
      target: '≤ 1 s, 0 hang',
      measured: `at most ${formatMs(slowest)}, ${others} without a 503`,
      isMet: (slowest ?? Infinity) <= 1_000 && others === 0,
    },
    {
      test: `Redis back → first success (after ${outages.map((ms) => `${ms / 1_000} s`).join(', ')})`,
      target: '≤ 500 ms',
      measured: recoveries.map(formatMs).join(', '),
      isMet: (latest ?? Infinity) <= 500,
    },
  ];
}

/** Restarts Redis with its data while streams run and new requests come. */
export async function measureRestarts(times: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({
    ...{ ingresses: 1, workers: 2, tenants: 1, redisArguments: keepsData },
  });
  stack.defer(() => installation.stop());
  let streams: Observation[] = [];
  for (let round = 0; round < times; round += 1) {
    const plans = Array.from({ length: 60 }, (_, index) =>
      plainPlan(index, { format: formats[index % 3] ?? 'openai' }),
    );
    const { ended } = await openStreams(installation, plans);
    await installation.redis.restart();
    streams = [...streams, ...(await ended)];
  }
  const share = streams.filter(isComplete).length / streams.length;
  return [
    {
      test: `Redis restarted with AOF under ${streams.length} streams`,
      target: '≥ 99 % complete',
      measured: `${(100 * share).toFixed(2)} % complete${formatFailures(streams)}`,
      isMet: share >= 0.99,
    },
  ];
}

/** Cuts every subscriber once a second while streams run. */
export async function measureSubscriberKills(durationMs: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({ ingresses: 1, workers: 2, tenants: 1 });
  stack.defer(() => installation.stop());
  const plan = (index: number) =>
    plainPlan(index, { format: formats[index % 3] ?? 'openai', tokens: 100, gapMs: 10 });
  const calm = keepBusy(installation, 20, plan);
  await sleep(durationMs / 4);
  const before = await calm.stop();
  const busy = keepBusy(installation, 20, plan);
  const endsAt = performance.now() + durationMs;
  while (performance.now() < endsAt) {
    await installation.operator.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await sleep(1_000);
  }
  const under = await busy.stop();
  const unequal = under.filter((each) => !isComplete(each) || each.answer.text !== expectedText(each.plan));
  const took = (all: readonly Observation[]) =>
    percentile(
      all.map(({ startedAt, endedAt }) => endedAt - startedAt),
      0.99,
    ) ?? 0;
  const added = took(under) - took(before);
  return [
    {
      test: `subscribers killed every second for ${durationMs / 1_000} s (${under.length} streams)`,
      target: 'all byte-equal, p99 + ≤ 250 ms',
      measured: `${unequal.length} not equal, p99 ${formatMs(took(before))} + ${formatMs(added)}`,
      isMet: unequal.length === 0 && added <= 250,
    },
  ];
}
