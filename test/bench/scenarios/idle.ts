import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { openIdleStreams } from '../idle-streams.ts';
import { openFilesLimit } from '../machine/machine.ts';
import { readMemory } from '../machine/processes.ts';
import type { MeasureName, Measures } from '../results/measures.ts';
import { measureInTurns, ratioInTurns } from '../results/turns.ts';
import { type Bench, present, type Scenario, withOthers } from '../scenario.ts';
import { measurePaced } from './first-token.ts';
import { measureRequests } from './throughput.ts';

const fewStreams = 1000;
const manyStreams = 5000;
/** Time for the garbage of opening to be collected and for buffers to grow. */
const settleMs = 6000;
/** Of both loads, for each number of idle streams. */
const turns = 2;
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
 * The usual loads beside open idle streams: of a gateway that holds them, in turns with another one that holds none.
 * By what the two differ anyhow is measured before and after, while neither holds any, and taken out.
 */
export const besideIdle: Scenario = {
  name: 'idle',
  title: 'load beside idle streams',
  kinds: ['gateway'],
  startsOthers: true,
  measure: (contender, bench) =>
    withOthers(contender, bench, async (start) => {
      const [free, holding] = [await start(), await start()];
      const compare = async (): Promise<Change> => {
        const found = await measureInTurns(turns, [free, holding], (side) => bothLoads(side, bench));
        const ratio = (name: keyof Change) => ratioInTurns(found, (each) => each[name], 1, 0) ?? Number.NaN;
        return { rate: ratio('rate'), perToken: ratio('perToken') };
      };
      const levels: [number, MeasureName, MeasureName][] = [
        [fewStreams, 'idle1000Rate', 'idle1000PerToken'],
        [manyStreams, 'idle5000Rate', 'idle5000PerToken'],
      ];
      if (bench.mostIdle > manyStreams) levels.push([bench.mostIdle, 'idleMostRate', 'idleMostPerToken']);
      const measures: Measures = {};
      const before = await compare();
      for (const [count, rate, perToken] of levels) {
        const idle = await openIdleStreams(holding, bench.upstream, count);
        await sleep(settleMs);
        const beside = await compare().finally(() => idle.close());
        [measures[rate], measures[perToken]] = [beside.rate, beside.perToken];
        await sleep(settleMs);
      }
      const after = await compare();
      const without = {
        rate: (before.rate + after.rate) / 2,
        perToken: (before.perToken + after.perToken) / 2,
      };
      for (const [, rate, perToken] of levels) {
        measures[rate] = (measures[rate] ?? Number.NaN) / without.rate;
        measures[perToken] = (measures[perToken] ?? Number.NaN) / without.perToken;
      }
      return measures;
    }),
};

/** What a gateway does under both loads, as multiples of what another one does. */
interface Change {
  /** Requests per second. */
  rate: number;
  /** CPU time per paced token. */
  perToken: number;
}

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

async function bothLoads(contender: Contender, bench: Bench): Promise<Partial<Change>> {
  const { requestRate: rate } = await measureRequests(contender, bench);
  const { stackPerToken: perToken } = await measurePaced(contender, bench);
  return { ...(rate !== undefined && { rate }), ...(perToken !== undefined && { perToken }) };
}
