import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { openIdleStreams } from '../idle-streams.ts';
import { openFilesLimit } from '../machine.ts';
import type { MeasureName, Measures } from '../measures.ts';
import { readMemory } from '../processes.ts';
import { type Bench, present, type Scenario, warmUp } from '../scenario.ts';
import { measurePaced } from './first-token.ts';
import { measureRequests } from './throughput.ts';

const fewStreams = 1000;
const manyStreams = 5000;
/** Time for the garbage of opening to be collected and for buffers to grow. */
const settleMs = 6000;
/** A proxy has two sockets per stream. */
const filesPerStream = 2;
const spareFiles = 2_000;

/**
 * The memory of one more idle stream: the slope between 5,000 and 10,000 streams in fresh processes. Below 5,000, V8's
 * young generation still grows, once per process and to 100 MB, however many streams there will be.
 */
export const memory: Scenario = {
  name: 'memory',
  title: 'memory per idle stream',
  kinds: ['proxy', 'gateway'],
  startsOthers: true,
  async measure(contender, bench) {
    const fresh = await contender.startAnother?.();
    if (!fresh) return {};
    try {
      const most = Math.min(2 * manyStreams, Math.floor((openFilesLimit() - spareFiles) / filesPerStream));
      const growth = await measureGrowth(fresh, bench, manyStreams, most);
      return present({
        memoryPerStream: growth.ingress ?? growth.proxy,
        memoryPerStreamWithWorker:
          growth.ingress === undefined ? undefined : growth.ingress + (growth.worker ?? 0),
      });
    } finally {
      await fresh.stop();
    }
  },
};

/**
 * The usual loads beside open idle streams, each between two runs of the same loads without any, since the machine's
 * speed drifts by more than the streams cost. What opening and closing them leaves to be collected is waited for.
 */
export const besideIdle: Scenario = {
  name: 'idle',
  title: 'load beside idle streams',
  kinds: ['gateway'],
  startsOthers: true,
  async measure(contender, bench) {
    const fresh = await contender.startAnother?.();
    if (!fresh) return {};
    try {
      await warmUp(fresh, bench);
      let alone = await bothLoads(fresh, bench);
      const measures: Measures = {};
      const levels: [number, MeasureName, MeasureName][] = [
        [fewStreams, 'idle1000Rate', 'idle1000PerToken'],
        [manyStreams, 'idle5000Rate', 'idle5000PerToken'],
      ];
      if (bench.mostIdle > manyStreams) levels.push([bench.mostIdle, 'idleMostRate', 'idleMostPerToken']);
      for (const [count, rate, perToken] of levels) {
        const idle = await openIdleStreams(fresh, bench.upstream, count);
        await sleep(settleMs);
        const beside = await bothLoads(fresh, bench).finally(() => idle.close());
        await sleep(settleMs);
        const again = await bothLoads(fresh, bench);
        measures[rate] = (2 * beside.rate) / (alone.rate + again.rate);
        measures[perToken] = (2 * beside.perToken) / (alone.perToken + again.perToken);
        alone = again;
      }
      return measures;
    } finally {
      await fresh.stop();
    }
  },
};

/** Bytes of resident memory per further stream, by role, between two numbers of streams. */
async function measureGrowth(
  contender: Contender,
  bench: Pick<Bench, 'upstream'>,
  from: number,
  to: number,
): Promise<{ ingress?: number; worker?: number; proxy?: number }> {
  const roles = new Set(contender.roles.map(({ role }) => role));
  const read = () => new Map([...roles].map((role) => [role, readMemory(contender.roles, role)]));
  const first = await openIdleStreams(contender, bench.upstream, from);
  await sleep(settleMs);
  const before = read();
  const more = await openIdleStreams(contender, bench.upstream, to - from);
  await sleep(settleMs);
  const after = read();
  await more.close();
  await first.close();
  const growth = [...after].map(([role, bytes]) => [role, (bytes - (before.get(role) ?? 0)) / (to - from)]);
  return Object.fromEntries(growth);
}

async function bothLoads(contender: Contender, bench: Bench): Promise<{ rate: number; perToken: number }> {
  const { requestRate = Number.NaN } = await measureRequests(contender, bench);
  const { stackPerToken = Number.NaN } = await measurePaced(contender, bench);
  return { rate: requestRate, perToken: stackPerToken };
}
