import type { Contender } from '../contenders/contender.ts';
import { models, pacedLifeMs } from '../contenders/models.ts';
import { type LoadPlan, percentilesOf } from '../load.ts';
import type { Measures } from '../results/measures.ts';
import { type Bench, cpuPer, everyKind, present, type Scenario, stackPer } from '../scenario.ts';

/** Time to first token of one stream at a time. */
export const oneStream: Scenario = {
  name: 'one',
  title: '1 stream',
  kinds: everyKind,
  async measure(contender, bench) {
    const { p50, p99 } = await firstTokens(contender, bench, models.few, 1);
    return present({ ttft1P50: p50, ttft1P99: p99 });
  },
};

/** Time to first token of a moderate load. */
export const someStreams: Scenario = {
  name: 'some',
  title: '32 streams',
  kinds: everyKind,
  async measure(contender, bench) {
    const { p50, p99 } = await firstTokens(contender, bench, models.some, 32);
    return present({ ttft32P50: p50, ttft32P99: p99 });
  },
};

/** 256 streams of 50 tokens/s each: first token, transit of every token, CPU per token. */
export const pacedStreams: Scenario = {
  name: 'paced',
  title: '256 paced streams',
  kinds: everyKind,
  measure: (contender, bench) => measurePaced(contender, bench),
};

/** The same with answers ten times as long: what a token costs where a request is a tenth as frequent. */
export const longStreams: Scenario = {
  name: 'long',
  title: '256 paced streams, ten times as long',
  kinds: everyKind,
  async measure(contender, bench): Promise<Measures> {
    const outcome = await bench.load(contender, {
      model: models.long,
      users: 256,
      rampUpMs: pacedLifeMs,
      warmupMs: 2600,
      // No user begins a second answer.
      durationMs: 2600 + 6000 * bench.pace,
      flags: ['--verify', 'tokens'],
    });
    const { tokens } = outcome;
    return present({
      ingressPerLongToken: cpuPer(outcome, 'ingress', tokens),
      workerPerLongToken: cpuPer(outcome, 'worker', tokens),
      redisPerLongToken: cpuPer(outcome, 'redis', tokens),
      stackPerLongToken: stackPer(outcome, tokens),
    });
  },
};

/** 256 requests at the same instant, several times. */
export const burst: Scenario = {
  name: 'burst',
  title: '256 at once',
  kinds: everyKind,
  async measure(contender, bench): Promise<Measures> {
    const bursts = Math.max(2, Math.round(8 * bench.pace));
    const everyMs = 700;
    // The first burst opens the connections and is not measured.
    const arrivals = Array.from({ length: 256 * bursts }, (_, at) => Math.floor(at / 256) * everyMs);
    const { result } = await bench.load(contender, {
      model: models.burst,
      arrivals,
      warmupMs: everyMs / 2,
      durationMs: bursts * everyMs,
    });
    return present({ burstP50: percentilesOf(result.metrics.ttftFromSend).p50 });
  },
};

/** One single body after the other. */
export const oneBody: Scenario = {
  name: 'single',
  title: 'non-streaming, 1 at a time',
  kinds: everyKind,
  async measure(contender, bench): Promise<Measures> {
    const { result } = await bench.load(contender, {
      model: models.one,
      users: 1,
      single: true,
      warmupMs: 500,
      durationMs: 500 + 4000 * bench.pace,
    });
    return present({ singleP50: percentilesOf(result.metrics.endToEndFromSend).p50 });
  },
};

/**
 * The load of `pacedStreams`. Starts are spread over the 2.5 s that a stream lasts, and stay spread. The first round of
 * streams is not measured.
 */
export function pacedPlan({ pace }: Pick<Bench, 'pace'>, users = 256): LoadPlan {
  return {
    model: models.paced,
    users,
    rampUpMs: pacedLifeMs,
    warmupMs: 2600,
    durationMs: 2600 + 6000 * pace,
    flags: ['--verify', 'tokens'],
  };
}

/** Runs `pacedPlan`. */
export async function measurePaced(contender: Contender, bench: Bench): Promise<Measures> {
  const outcome = await bench.load(contender, pacedPlan(bench));
  const { metrics } = outcome.result;
  const [ttft, transit] = [percentilesOf(metrics.ttftFromSend), percentilesOf(metrics.transit)];
  return present({
    ttft256P50: ttft.p50,
    ttft256P99: ttft.p99,
    transitP50: transit.p50,
    transitP99: transit.p99,
    ingressPerToken: cpuPer(outcome, 'ingress', outcome.tokens),
    workerPerToken: cpuPer(outcome, 'worker', outcome.tokens),
    redisPerToken: cpuPer(outcome, 'redis', outcome.tokens),
    stackPerToken: stackPer(outcome, outcome.tokens),
  });
}

async function firstTokens(contender: Contender, bench: Bench, model: string, users: number) {
  const { result } = await bench.load(contender, {
    model,
    users,
    warmupMs: 500,
    durationMs: 500 + 4000 * bench.pace,
  });
  return percentilesOf(result.metrics.ttftFromSend);
}
