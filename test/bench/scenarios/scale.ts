import type { Contender } from '../contender.ts';
import type { Measures } from '../measures.ts';
import { type Bench, present, type Scenario, warmUp } from '../scenario.ts';
import { measurePaced } from './first-token.ts';
import { measureRequests } from './throughput.ts';

const users = 256;

/**
 * 1, 2 and 4 ingress and worker processes: what Redis pays per request, and ingress and worker per token. Work in small
 * batches costs more per item, also for one process. So several processes are compared with one that is as busy as each
 * of them (`…Alike`), and also with one that has all the load.
 */
export const scale: Scenario = {
  name: 'scale',
  title: '1, 2, 4 ingresses and workers',
  kinds: ['gateway'],
  startsOthers: true,
  async measure(contender, bench): Promise<Measures> {
    const [whole, half, quarter] = await costs(contender, bench, 1, [users, users / 2, users / 4]);
    const [two] = await costs(contender, bench, 2, [users]);
    const [four] = await costs(contender, bench, 4, [users]);
    return present({
      twoRedisPerRequestAlike: ratio(two?.redisPerRequest, half?.redisPerRequest),
      twoPerTokenAlike: ratio(two?.perToken, half?.perToken),
      fourRedisPerRequestAlike: ratio(four?.redisPerRequest, quarter?.redisPerRequest),
      fourPerTokenAlike: ratio(four?.perToken, quarter?.perToken),
      twoRedisPerRequest: ratio(two?.redisPerRequest, whole?.redisPerRequest),
      twoPerToken: ratio(two?.perToken, whole?.perToken),
      fourRedisPerRequest: ratio(four?.redisPerRequest, whole?.redisPerRequest),
      fourPerToken: ratio(four?.perToken, whole?.perToken),
    });
  },
};

interface Costs {
  redisPerRequest: number | undefined;
  /** CPU of ingresses and workers together. */
  perToken: number | undefined;
}

/** The costs of so many processes of each, by the number of users. */
async function costs(
  contender: Contender,
  bench: Bench,
  processes: number,
  loads: readonly number[],
): Promise<Costs[]> {
  const fresh = await contender.startAnother?.({ processes });
  if (!fresh) return [];
  const found: Costs[] = [];
  try {
    await warmUp(fresh, bench, processes);
    for (const load of loads) {
      const { redisPerRequest } = await measureRequests(fresh, bench, load);
      const { ingressPerToken, workerPerToken } = await measurePaced(fresh, bench, load);
      const isWhole = ingressPerToken !== undefined && workerPerToken !== undefined;
      found.push({ redisPerRequest, perToken: isWhole ? ingressPerToken + workerPerToken : undefined });
    }
    return found;
  } finally {
    await fresh.stop();
  }
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}
