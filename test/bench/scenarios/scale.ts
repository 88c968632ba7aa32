import type { Contender } from '../contenders/contender.ts';
import type { Measures } from '../results/measures.ts';
import { measureInTurns, ratioInTurns } from '../results/turns.ts';
import { type Bench, cpuPer, present, type Scenario, withOthers } from '../scenario.ts';
import { pacedPlan } from './first-token.ts';
import { requestsPlan } from './throughput.ts';

const users = 256;
/** So few that even the most processes have time to spare: where cores are scarce, all of them pay for that. */
const pacedUsers = 128;
const turns = 3;
/** The sides of a turn. */
const [shared, apart, one] = [0, 1, 2];

/**
 * 2 and 4 ingress and worker processes at one Redis: what Redis pays per request, and ingress and worker per token.
 *
 * They are compared with as many whole gateways of one process each that do the same work at the same time, each with a
 * Redis of its own. So as many processes use the same cores in batches as small, and what differs is what the sharing
 * costs. They are also compared with one gateway that has all the load: what somebody sees who spreads it over more
 * processes than cores.
 */
export const scale: Scenario = {
  name: 'scale',
  title: '2 and 4 ingresses and workers',
  kinds: ['gateway'],
  startsOthers: true,
  async measure(contender, bench): Promise<Measures> {
    const [two, four] = [await compare(contender, bench, 2), await compare(contender, bench, 4)];
    return present({
      twoRedisPerRequest: two.redisPerRequest(apart),
      twoPerToken: two.perToken(apart),
      fourRedisPerRequest: four.redisPerRequest(apart),
      fourPerToken: four.perToken(apart),
      twoRedisPerRequestOfOne: two.redisPerRequest(one),
      twoPerTokenOfOne: two.perToken(one),
      fourRedisPerRequestOfOne: four.redisPerRequest(one),
      fourPerTokenOfOne: four.perToken(one),
    });
  },
};

interface Costs {
  redisPerRequest: number | undefined;
  /** CPU of ingresses and workers together. */
  perToken: number | undefined;
}

/** What so many processes of each at one Redis cost, as a multiple of what another side of the turns does. */
function compare(contender: Contender, bench: Bench, processes: number) {
  return withOthers(contender, bench, async (start) => {
    const together = await start(processes);
    const singles: Contender[] = [];
    while (singles.length < processes) singles.push(await start());
    // As many load clients on every side but the last.
    const sides = [Array.from(singles, () => together), singles, singles.slice(0, 1)];
    const found = await measureInTurns(turns, sides, (side) => measureCosts(side, bench));
    const ratioTo = (base: number, read: (costs: Costs) => number | undefined) =>
      ratioInTurns(found, read, shared, base);
    return {
      redisPerRequest: (base: number) => ratioTo(base, (costs) => costs.redisPerRequest),
      perToken: (base: number) => ratioTo(base, (costs) => costs.perToken),
    };
  });
}

/** The whole load, shared evenly. */
async function measureCosts(contenders: readonly Contender[], bench: Bench): Promise<Costs> {
  const { length } = contenders;
  const requests = await bench.loadAll(contenders, requestsPlan(bench, users / length));
  const paced = await bench.loadAll(contenders, pacedPlan(bench, pacedUsers / length));
  const ingress = cpuPer(paced, 'ingress', paced.tokens);
  const worker = cpuPer(paced, 'worker', paced.tokens);
  return {
    redisPerRequest: cpuPer(requests, 'redis', requests.answers),
    perToken: ingress === undefined || worker === undefined ? undefined : ingress + worker,
  };
}
