import { setTimeout as sleep } from 'node:timers/promises';
import { Directory } from '@sluice/tenancy';
import { until } from '@sluice/testing';
import { formats } from '../../support/call.ts';
import { isComplete } from '../checker/check-answers.ts';
import type { Figure } from '../figure.ts';
import { Installation } from '../installation/installation.ts';
import { seriesOf } from '../installation/member.ts';
import type { Observation } from '../observation.ts';
import { formatMs, percentile } from '../percentile.ts';
import { keepBusy, openStreams, plainPlan, send } from './scenario.ts';

/** Clients leave in the middle of a stream: measures how long until the upstream's socket is closed. */
export async function measureAborts(count: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({ ingresses: 1, workers: 1, tenants: 1 });
  stack.defer(() => installation.stop());
  const plans = Array.from({ length: count }, (_, index) =>
    plainPlan(index, {
      ...{ model: 'up', tokens: 2_000, format: formats[index % 3] ?? 'openai', isStream: index % 4 !== 0 },
      client: index % 4 === 0 ? { kind: 'leaves-early', afterMs: 300 } : { kind: 'leaves', afterBytes: 500 },
    }),
  );
  const observations = await Promise.all(plans.map((plan) => send(installation, plan)));
  const { runs } = installation.upstream;
  await until(() => runs.every(({ closedAt }) => closedAt !== undefined), { timeoutMs: 30_000 });
  const delays = runs.map(({ index, closedAt }) => (closedAt ?? 0) - leftAt(observations, index));
  const p99 = percentile(delays, 0.99);
  return [
    {
      test: `client abort → upstream socket closed (${delays.length} streams and single answers)`,
      target: 'p99 ≤ 500 ms',
      measured: `p50 ${formatMs(percentile(delays, 0.5))}, p99 ${formatMs(p99)}`,
      isMet: (p99 ?? Infinity) <= 500,
    },
  ];
}

function leftAt(observations: readonly Observation[], index: number): number {
  return observations.find(({ plan }) => plan.index === index)?.endedAt ?? 0;
}

/** Sends many requests at once for a tenant that may have a few under way. */
export async function measureConcurrency(parallel: number, admitted: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({ ingresses: 2, workers: 1, tenants: 1 });
  stack.defer(() => installation.stop());
  const plans = Array.from({ length: parallel }, (_, index) =>
    plainPlan(index, { tokens: 20, gapMs: 20, ttftMs: 3_000, ingress: index % 2 }),
  );
  const directory = new Directory({ redis: installation.operator });
  await directory.changeTenantLimits('tenant-0', { concurrency: { max: admitted } });
  const observations = await Promise.all(plans.map((plan) => send(installation, plan)));
  const whole = observations.filter(isComplete).length;
  const refused = observations.filter(({ status }) => status === 429).length;
  return [
    {
      test: `${parallel} parallel requests at a concurrency limit of ${admitted}, over two ingresses`,
      target: `exactly ${admitted} admitted`,
      measured: `${whole} served, ${refused} refused with 429`,
      isMet: whole === admitted && refused === parallel - admitted,
    },
  ];
}

/** Runs readers that read next to nothing, and measures what they cost the others. */
export async function measureSlowReaders(readers: number): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({
    ...{ ingresses: 1, workers: 2, tenants: 2, slots: readers + 100, deadlineMs: 120_000 },
  });
  stack.defer(() => installation.stop());
  const [ingress] = installation.ingresses;
  const fast = (index: number) => plainPlan(index, { tokens: 50, format: formats[index % 3] ?? 'openai' });
  const before = keepBusy(installation, 10, fast);
  await sleep(5_000);
  const calm = await before.stop();
  const heapBefore = await memoryOf(installation);
  const { ended } = await openStreams(
    installation,
    Array.from({ length: readers }, (_, index) =>
      plainPlan(index, {
        ...{ tokens: 20_000, gapMs: 0, tenant: 'tenant-1', ttftMs: 0 },
        client: { kind: 'reads-slowly', bytesPerSecond: 100, forMs: 15_000, leaves: true },
      }),
    ),
  );
  await sleep(4_000);
  const heap = await memoryOf(installation);
  const during = keepBusy(installation, 10, fast);
  await sleep(5_000);
  const beside = await during.stop();
  await ended;
  const each = (heap - heapBefore) / readers;
  const p99 = (all: readonly Observation[]) =>
    percentile(
      all.map(({ startedAt, endedAt }) => endedAt - startedAt),
      0.99,
    ) ?? 0;
  const growth = p99(beside) / p99(calm) - 1;
  await until(async () => (await ingress?.metric('sluice_requests_in_flight')) === 0, { timeoutMs: 60_000 });
  return [
    {
      test: `${readers} readers of 100 B/s beside 10 fast ones`,
      target: '≤ 256 KiB each in the ingress; p99 of the others + ≤ 10 %',
      measured: `${Math.round(each / 1_024)} KiB each, p99 ${formatMs(p99(calm))} ${growth >= 0 ? '+' : ''}${(100 * growth).toFixed(1)} %`,
      isMet: each <= 256 * 1_024 && growth <= 0.1,
    },
  ];
}

/** Resident memory of the first ingress, bytes. */
async function memoryOf({ ingresses }: Installation): Promise<number> {
  const [text = ''] = (await ingresses[0]?.metricsTexts()) ?? [];
  return seriesOf(text).find(([series]) => series.startsWith('process_resident_memory_bytes'))?.[1] ?? 0;
}
