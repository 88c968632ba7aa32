import type { Contender } from '../contender.ts';
import type { Measures } from '../measures.ts';
import { models } from '../models.ts';
import { type Bench, cpuPer, everyKind, present, type Scenario, stackPer } from '../scenario.ts';

/** Single bodies of one token from 256 users: all cost is the request's. */
export const requests: Scenario = {
  name: 'requests',
  title: 'requests/s at 256',
  kinds: everyKind,
  measure: measureRequests,
};

/** Streams without a gap: as many tokens as go through. */
export const tokens: Scenario = {
  name: 'tokens',
  title: 'tokens/s, no gap',
  kinds: everyKind,
  async measure(contender, bench): Promise<Measures> {
    return {
      tokenRate32: await tokenRate(contender, bench, 32),
      tokenRate256: await tokenRate(contender, bench, 256),
    };
  },
};

/** The load of `requests`, for whoever wants its cost beside something else. */
export async function measureRequests(contender: Contender, bench: Bench): Promise<Measures> {
  const outcome = await bench.load(contender, {
    model: models.one,
    users: 256,
    single: true,
    warmupMs: 1000,
    durationMs: 1000 + 4000 * bench.pace,
  });
  const { answers } = outcome;
  return present({
    requestRate: outcome.result.rates.ok,
    ingressPerRequest: cpuPer(outcome, 'ingress', answers),
    workerPerRequest: cpuPer(outcome, 'worker', answers),
    redisPerRequest: cpuPer(outcome, 'redis', answers),
    stackPerRequest: stackPer(outcome, answers),
  });
}

async function tokenRate(contender: Contender, bench: Bench, users: number): Promise<number> {
  const { result } = await bench.load(contender, {
    model: models.rush,
    users,
    warmupMs: 1000,
    durationMs: 1000 + 4000 * bench.pace,
  });
  return result.rates.tokens;
}
