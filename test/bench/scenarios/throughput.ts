import type { Contender } from '../contenders/contender.ts';
import { models } from '../contenders/models.ts';
import type { LoadPlan } from '../load.ts';
import type { Measures } from '../results/measures.ts';
import { type Bench, cpuPer, everyKind, present, type Scenario, stackPer } from '../scenario.ts';

/** Single bodies of one token from 256 users: the whole cost is that of the request. */
export const requests: Scenario = {
  name: 'requests',
  title: 'requests/s at 256',
  kinds: everyKind,
  measure: (contender, bench) => measureRequests(contender, bench),
};

/** Streams without a gap: the most tokens per second. */
export const tokens: Scenario = {
  name: 'tokens',
  title: 'tokens/s, no gap',
  kinds: everyKind,
  async measure(contender, bench): Promise<Measures> {
    return {
      ...(await measureRush(contender, bench, 32)),
      ...(await measureRush(contender, bench, 256)),
    };
  },
};

/** The load of `requests`. */
export function requestsPlan({ pace }: Pick<Bench, 'pace'>, users = 256): LoadPlan {
  return { model: models.one, users, single: true, warmupMs: 1000, durationMs: 1000 + 4000 * pace };
}

/** Runs `requestsPlan`. */
export async function measureRequests(contender: Contender, bench: Bench): Promise<Measures> {
  const outcome = await bench.load(contender, requestsPlan(bench));
  const { answers } = outcome;
  return present({
    requestRate: outcome.result.rates.ok,
    ingressPerRequest: cpuPer(outcome, 'ingress', answers),
    workerPerRequest: cpuPer(outcome, 'worker', answers),
    redisPerRequest: cpuPer(outcome, 'redis', answers),
    stackPerRequest: stackPer(outcome, answers),
  });
}

/** Streams without a gap from so many users. */
export async function measureRush(contender: Contender, bench: Bench, users: 32 | 256): Promise<Measures> {
  const outcome = await bench.load(contender, {
    model: models.rush,
    users,
    warmupMs: 1000,
    durationMs: 1000 + 4000 * bench.pace,
  });
  const { tokens: rate } = outcome.result.rates;
  if (users === 256) return { tokenRate256: rate };
  return present({ tokenRate32: rate, stackPerRushToken: stackPer(outcome, outcome.tokens) });
}
