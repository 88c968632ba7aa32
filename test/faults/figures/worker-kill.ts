import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@sluice/testing';
import { formats } from '../../support/call.ts';
import { isComplete } from '../checker/check-answers.ts';
import { check } from '../checker/checker.ts';
import { attemptsByRequest } from '../checker/request-lines.ts';
import type { Figure } from '../figure.ts';
import { Installation } from '../installation/installation.ts';
import { killHost } from '../nemesis/process-faults.ts';
import type { Observation, ProcessLine } from '../observation.ts';
import { formatMs, percentile } from '../percentile.ts';
import { openStreams, plainPlan } from './scenario.ts';

const streams = 30;
const rounds = 5;

/**
 * Kills a worker process by SIGKILL in the middle of streams: measures how long until clients have the next token.
 * Checkouts are as `InstallationOptions.checkouts`.
 */
export async function measureWorkerKill(checkouts: readonly string[]): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const installation = await Installation.start({ ingresses: 1, workers: 2, tenants: 1, checkouts });
  stack.defer(() => installation.stop());
  const single = await measureKills(installation, rounds, async (worker) => {
    for (const pid of worker.workerPids()) process.kill(pid, 'SIGKILL');
    return () => until(() => worker.workerPids().length > 0, { timeoutMs: 30_000 });
  });
  const host = await measureKills(installation, 3, async (worker) => {
    const restarted = killHost(worker);
    return () => restarted;
  });
  const [p50, p99] = [percentile(single.gaps, 0.5), percentile(single.gaps, 0.99)];
  const most = percentile(host.gaps, 1);
  return [
    {
      test: `worker kill -9 → next token at the client (${single.gaps.length} streams)`,
      target: 'p50 ≤ 150 ms, p99 ≤ 1 s, texts equal',
      measured: `p50 ${formatMs(p50)}, p99 ${formatMs(p99)}, ${single.broken} broken`,
      isMet: (p50 ?? Infinity) <= 150 && (p99 ?? Infinity) <= 1_000 && single.broken === 0,
    },
    {
      test: `whole host kill -9 → next token (${host.gaps.length} streams)`,
      target: '≤ 3 s',
      measured: `at most ${formatMs(most)}, ${host.broken} broken`,
      isMet: (most ?? Infinity) <= 3_000 && host.broken === 0,
    },
  ];
}

type Kill = (worker: Installation['workers'][number]) => Promise<() => Promise<unknown>>;

async function measureKills(
  installation: Installation,
  times: number,
  kill: Kill,
): Promise<{ gaps: number[]; broken: number }> {
  const gaps: number[] = [];
  let broken = 0;
  for (let round = 0; round < times; round += 1) {
    const plans = Array.from({ length: streams }, (_, index) =>
      plainPlan(index, { format: formats[index % 3] ?? 'openai', tokens: 500 }),
    );
    const { ended } = await openStreams(installation, plans);
    const worker = installation.workers[round % installation.workers.length];
    if (!worker) continue;
    const killedAt = Date.now();
    const mend = await kill(worker);
    const observations = await ended;
    const lines = installation.ingresses.flatMap((ingress) => ingress.lines);
    const attempts = attemptsByRequest(lines);
    // Streams without a second attempt were at a worker that lived.
    const hit = observations.filter(({ requestId }) => (attempts.get(requestId ?? '') ?? 1) > 1);
    const lostAt = lossAfter(killedAt, lines);
    gaps.push(...hit.map(({ arrivedAt }) => (arrivedAt.find((at) => at > lostAt) ?? Infinity) - killedAt));
    broken += observations.filter((observation) => !isWhole(observation)).length;
    await mend();
    // Both workers must be known again before the next one dies.
    await until(async () => (await installation.ingresses[0]?.metric('sluice_pool_slots')) === 512, {
      timeoutMs: 30_000,
    });
    await sleep(200);
  }
  return { gaps, broken };
}

function isWhole(observation: Observation): boolean {
  return isComplete(observation) && check(onlyLog(observation)).length === 0;
}

function onlyLog(observation: Observation): Parameters<typeof check>[0] {
  return {
    ...{ deadlineMs: 60_000, observations: [observation], faults: [], upstreamRuns: [], lines: [] },
    ...{ counters: {}, leftovers: { gauges: {}, redis: {}, keysWithoutExpiry: [] }, budgets: [] },
    ...{ lostCharges: [], canaries: [], haystacks: [] },
  };
}

/** When the ingress knew of the loss. Whatever arrives later comes from the next attempt. */
function lossAfter(killedAt: number, lines: readonly ProcessLine[]): number {
  for (const { text } of lines) {
    if (!text.includes('"worker lost"')) continue;
    // A line of our own logger.
    const at = Date.parse((JSON.parse(text) as { time: string }).time);
    if (at >= killedAt) return at;
  }
  return Infinity;
}
