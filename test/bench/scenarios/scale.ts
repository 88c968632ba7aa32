import type { Contender } from '../contender.ts';
import type { Measures } from '../measures.ts';
import { type Bench, present, type Scenario, warmUp } from '../scenario.ts';
import { measurePaced } from './first-token.ts';
import { measureRequests } from './throughput.ts';

/** 1, 2 and 4 ingress and worker processes: what Redis pays per request and all pay per token must not grow. */
export const scale: Scenario = {
  name: 'scale',
  title: '1, 2, 4 ingresses and workers',
  kinds: ['gateway'],
  async measure(contender, bench): Promise<Measures> {
    const one = await costs(contender, bench, 1);
    const two = await costs(contender, bench, 2);
    const four = await costs(contender, bench, 4);
    return present({
      twoRedisPerRequest: ratio(two.redisPerRequest, one.redisPerRequest),
      twoPerToken: ratio(two.perToken, one.perToken),
      fourRedisPerRequest: ratio(four.redisPerRequest, one.redisPerRequest),
      fourPerToken: ratio(four.perToken, one.perToken),
    });
  },
};

async function costs(contender: Contender, bench: Bench, processes: number) {
  const fresh = await contender.startAnother?.({ processes });
  if (!fresh) return {};
  try {
    await warmUp(fresh, bench);
    const { redisPerRequest } = await measureRequests(fresh, bench);
    const { ingressPerToken, workerPerToken } = await measurePaced(fresh, bench);
    const perToken =
      ingressPerToken === undefined || workerPerToken === undefined
        ? undefined
        : ingressPerToken + workerPerToken;
    return { redisPerRequest, perToken };
  } finally {
    await fresh.stop();
  }
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}
