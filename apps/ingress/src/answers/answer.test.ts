import { EventEmitter } from 'node:events';
import { type Admission, createAdmission } from '@sluice/admission';
import { type GenerationEvent, type InferenceRequest, SluiceError, type Usage } from '@sluice/canonical';
import type { ResponseWriter } from '@sluice/http';
import { createIngressMetrics, renderMetrics } from '@sluice/runtime';
import { startRedis, type TestRedis, until } from '@sluice/testing';
import {
  connected,
  createJobQueue,
  type JobQueue,
  openRedis,
  type RedisClient,
  WorkerDirectory,
} from '@sluice/transport';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Dispatcher, type DispatcherOptions } from '../dispatch/dispatcher.ts';
import type { Exchange } from '../exchange.ts';
import { PromptPassage } from '../guards/prompt-passage.ts';
import type { Services } from '../services.ts';
import { Answer } from './answer.ts';
import { type AnswerPlan, deadlineOf } from './answer-plan.ts';
import { singleAnswer } from './single-answer.ts';

let server: TestRedis;
let redis: RedisClient;
let admission: Admission;
beforeAll(async () => {
  server = await startRedis();
  redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  admission = createAdmission({ redis, renewEveryMs: 50 });
  await admission.start();
});
afterAll(async () => {
  await admission?.close();
  redis?.disconnect();
  await server?.stop();
});

const longPrompt = 'x'.repeat(50_000);
const limits = { key: {}, tenant: { 'token-budget': { max: 1_000_000 } } };
const nothing = () => undefined;

/** An ingress with a queue and a clock that the test controls. */
function createBench(
  enqueue: JobQueue['enqueue'] = async () => undefined,
  promptPassage = new PromptPassage(1e9),
) {
  const queue = { enqueue, remove: async () => undefined };
  const defects: unknown[] = [];
  let at = 1_000;
  const now = () => at;
  const directory = new WorkerDirectory({
    now,
    silenceLimitMs: 1000,
    onLost: nothing,
    onHeardAgain: nothing,
  });
  directory.slotsOf = () => 4;
  directory.resumeOf = () => 'prefix';
  const metrics = createIngressMetrics();
  const options = {
    queue,
    directory,
    metrics,
    now,
    isListening: () => true,
    hearsReplies: () => true,
    repliesReach: () => true,
  };
  const dispatcher = new Dispatcher({
    ...options,
    orders: { send: nothing },
  } as unknown as DispatcherOptions);
  const services = {
    ...{
      admission,
      queue,
      directory,
      dispatcher,
      metrics,
      ingress: 'i',
      requestTimeoutMs: 60_000,
      now,
      steadyNow: now,
      bodyLimitBytes: 1e6,
      promptPassage,
    },
    monotonic: now,
  } as unknown as Services;
  return {
    /** Each request has a `pool` and a `tenant` of its own. */
    ask: (
      requestId: string,
      prompt: string,
      onEvents: (events: GenerationEvent[]) => void = nothing,
      exchange = { requestId, format: 'openai' } as Exchange,
      choices = 1,
      wanted: Partial<InferenceRequest> = {},
    ) => {
      exchange.bodyBytes = prompt.length;
      const plan = planOf(requestId, prompt, choices, wanted);
      const onDefect = (error: unknown) => void defects.push(error);
      return new Answer(plan, exchange, services, {
        onEvents: (_choice, events) => onEvents(events),
        hasShown: () => true,
        onDefect,
      });
    },
    /** The same for a client that gets all answers at once. */
    askWhole: (requestId: string, choices: number) => {
      const exchange = { requestId, format: 'openai' } as Exchange;
      // Its end is all that is asked of the response.
      const response = Object.assign(new EventEmitter(), { writableFinished: false });
      const writer = response as unknown as ResponseWriter;
      const plan = planOf(requestId, 'hi', choices);
      plan.call.stream = false;
      const answered = singleAnswer(plan, exchange, writer, services);
      return { answered, exchange, response };
    },
    askFor: (
      plan: AnswerPlan,
      exchange = { requestId: plan.call.requestId, format: 'openai' } as Exchange,
      onEvents: (events: GenerationEvent[]) => void = nothing,
    ) =>
      new Answer({ ...plan, deadlineAt: deadlineOf(plan.model, services) }, exchange, services, {
        onEvents: (_choice, events) => onEvents(events),
        hasShown: () => true,
        onDefect: nothing,
      }),
    /** The same for a request that something else follows if it fails. */
    askOr: (plan: AnswerPlan, next: () => void, bodyBytes = 2) => {
      const exchange = { requestId: plan.id, format: 'openai', bodyBytes } as Exchange;
      const sink = { onEvents: nothing, onDefect: nothing, onEnd: () => next };
      return new Answer(plan, exchange, services, sink);
    },
    metrics,
    /** What was thrown by `onEvents`. */
    defects,
    /** Generations that have not ended. */
    running: () => dispatcher.count,
    /** Requests that count as in flight. */
    inFlight: async () => {
      const { body } = await renderMetrics(metrics.registry);
      return Number(/^sluice_requests_in_flight\{format="openai"\} (\S+)$/m.exec(body)?.[1]);
    },
    /** Makes the worker exit after it has sent everything. */
    loseWorker: () => dispatcher.workerLost('w', 'exited'),
    pass: (durationMs: number) => {
      at += durationMs;
    },
    endOverdue: () => dispatcher.tick(),
    /** Makes a worker claim the request and send these events. */
    say: (requestId: string, events: GenerationEvent[], sequence = 0, attempt = 1) => {
      const frames = [{ requestId, attempt, sequence, events }];
      const claims = [{ requestId, attempt }];
      dispatcher.receive({ worker: 'w', claims, frames, running: [], gone: [] });
    },
  };
}

function planOf(
  requestId: string,
  prompt: string,
  choices: number,
  wanted: Partial<InferenceRequest> = {},
): AnswerPlan {
  // The members that an answer reads.
  return {
    id: requestId,
    deadlineAt: 61_000,
    request: {
      model: 'sim',
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      sampling: {},
      ...wanted,
    },
    call: { choices, stream: true, model: 'sim', requestId, wire: {} },
    caller: { tenant: requestId, keyId: 'k', weight: 1, limits },
    model: { id: 'sim', pool: requestId, fallbacks: [] },
    pool: { name: requestId, waitBudgetMs: 1000 },
  } as unknown as AnswerPlan;
}

const start: GenerationEvent = { type: 'start', id: 'r', model: 'sim', createdAt: 1 };
const text: GenerationEvent = { type: 'text-delta', block: 0, text: 'five', tokens: 5 };
const finish = (usage: Usage): GenerationEvent => ({ type: 'finish', reason: 'stop', usage });

async function spentBy(tenant: string): Promise<number | undefined> {
  const [budget] = await admission.usage({ tenant, keyId: 'k', limits });
  return budget?.used;
}

const meanKeyOf = (pool: string) => `sluice:{p:${pool}}:service:mean`;

it('a client that leaves during the admission of a long prompt leaves nothing reserved', async () => {
  let entered = 0;
  const { ask, inFlight } = createBench(() => {
    entered += 1;
    return Promise.reject(new SluiceError('unavailable', 'the queue is not reachable'));
  });
  await expect(ask('staying', longPrompt).begin()).rejects.toThrow('the queue is not reachable');
  const leaving = ask('leaving', longPrompt);
  const begun = leaving.begin();
  leaving.cancel();
  await begun;
  expect(entered).toBe(1);
  expect((await admission.inspect()).open).toBe(0);
  expect(await inFlight()).toBe(0);
});

it('a long prompt whose client leaves while others go first is forgotten at once', async () => {
  let entered = 0;
  const { promise: hasLeft, resolve } = Promise.withResolvers<void>();
  const { ask, running } = createBench(async () => {
    entered += 1;
    await hasLeft;
    throw new SluiceError('unavailable', 'the queue is not reachable');
  }, new PromptPassage(1));
  const [first, leaving] = [ask('first', longPrompt), ask('leaving', longPrompt)];
  const begun = [first.begin(), leaving.begin()];
  leaving.cancel();
  await begun[1];
  resolve();
  await expect(begun[0]).rejects.toThrow('the queue is not reachable');
  expect(entered).toBe(1);
  expect(running()).toBe(0);
});

it('a long prompt that already runs goes on, although the reply to its enqueueing was lost', async () => {
  const failing = Promise.withResolvers<void>();
  const { ask, say } = createBench(() => failing.promise);
  const told: GenerationEvent[] = [];
  const begun = ask('unheard', longPrompt, (events) => told.push(...events)).begin();
  await until(async () => (await spentBy('unheard')) !== 0);
  say('unheard', [start, text]);
  failing.reject(new SluiceError('unavailable', 'the queue is not reachable'));
  await begun;
  say('unheard', [finish({ inputTokens: 7, outputTokens: 5 })], 1);
  expect(told.map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish']);
  await until(async () => (await spentBy('unheard')) === 12);
});

it('an answer without a usage report is charged by what was delivered, even if it ends before its admission is known', async () => {
  const { ask, say } = createBench();
  const exchange = { requestId: 'quick', format: 'openai' } as Exchange;
  const begun = ask('quick', 'hi', nothing, exchange).begin();
  say('quick', [start, text, finish({ inputTokens: 2 })]);
  await begun;
  expect(exchange).toMatchObject({ usage: { inputTokens: 2, outputTokens: 5 }, attempts: 1, worker: 'w' });
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('quick')).toBe(7);
});

it('an answer that comes before the reply of admission waits for it, because its head tells the rates', async () => {
  const { askFor, say } = createBench();
  const exchange = { requestId: 'early', format: 'openai' } as Exchange;
  const told: [string, unknown][] = [];
  const plan = planOf('early', 'hi', 1);
  plan.caller = {
    ...plan.caller,
    limits: { key: {}, tenant: { 'request-rate': { max: 3, periodMs: 60_000 } } },
  };
  const begun = askFor(plan, exchange, (events) => {
    for (const { type } of events) told.push([type, exchange.rates]);
  }).begin();
  say('early', [start, text]);
  say('early', [finish({ inputTokens: 2, outputTokens: 5 })], 1);
  expect(told).toEqual([]);
  await begun;
  expect(told.map(([type]) => type)).toEqual(['start', 'text-delta', 'finish']);
  expect(told[0]?.[1]).toMatchObject([{ counts: 'requests', max: 3, left: 2 }]);
});

it('an answer whose client leaves before the reply of admission is told to nobody', async () => {
  const { ask, say } = createBench();
  const told: GenerationEvent[] = [];
  const answer = ask('left', 'hi', (events) => told.push(...events));
  const begun = answer.begin();
  say('left', [start, text]);
  answer.cancel();
  await begun;
  expect(told).toEqual([]);
  await until(async () => (await admission.inspect()).open === 0);
});

it.each([
  ['leaves', []],
  [
    'is told of a failure without a report',
    [{ type: 'error', error: { kind: 'upstream-failed', message: 'gone' } }],
  ],
] as [string, GenerationEvent[]][])(
  'what a client that %s has spent by the log is what it is charged for',
  async (why, last) => {
    const { ask, say } = createBench();
    const tenant = why.split(' ')[0] ?? '';
    const exchange = { requestId: tenant, format: 'openai' } as Exchange;
    const answer = ask(tenant, longPrompt, nothing, exchange);
    await answer.begin();
    say(tenant, [start, text, ...last]);
    answer.cancel();
    await until(async () => (await admission.inspect()).open === 0);
    const { inputTokens = 0, outputTokens } = exchange.usage ?? {};
    expect(outputTokens).toBe(5);
    expect(inputTokens).toBeGreaterThan(1_000);
    expect(await spentBy(tenant)).toBe(inputTokens + 5);
  },
);

it('the prompt usage that the engine reported at the start is charged when nothing more is reported', async () => {
  const { ask, say } = createBench();
  const exchange = { requestId: 'charged', format: 'openai' } as Exchange;
  const answer = ask('charged', 'hi', nothing, exchange);
  await answer.begin();
  say('charged', [{ ...start, inputTokens: 5000, cacheReadTokens: 4000 }, text]);
  answer.cancel();
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('charged')).toBe(5005);
  expect(exchange.usage).toEqual({ inputTokens: 5000, cacheReadTokens: 4000, outputTokens: 5 });
});

const refused: GenerationEvent = {
  type: 'error',
  error: { kind: 'upstream-failed', message: 'no' },
  usage: { inputTokens: 0, outputTokens: 0 },
};

it('a refused run costs nothing, except for what was delivered before it', async () => {
  const { ask, say } = createBench();
  const begun = [ask('refused', 'hi').begin(), ask('midway', 'hi').begin()];
  say('refused', [refused]);
  say('midway', [start, text, refused]);
  await Promise.all(begun);
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('refused')).toBe(0);
  expect(await spentBy('midway')).toBeGreaterThan(5);
});

it('a run that fails midway is charged by its own report', async () => {
  const { ask, say } = createBench();
  await ask('reported', 'hi').begin();
  const usage = { inputTokens: 7, outputTokens: 9 };
  say('reported', [start, text, { ...refused, usage } as GenerationEvent]);
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('reported')).toBe(16);
});

it('a request that waits for another attempt costs nothing when its first was refused', async () => {
  const { ask, say } = createBench();
  const away: GenerationEvent = { ...refused, error: { kind: 'unavailable', message: 'nobody there' } };
  const { usage: _, ...unreported } = away;
  const answers = ['waiting', 'unsure', 'again'].map((id) => ask(id, 'hi'));
  await Promise.all(answers.map((answer) => answer.begin()));
  say('waiting', [away]);
  say('unsure', [unreported]);
  say('again', [away]);
  say('again', [start], 0, 2);
  for (const answer of answers) answer.cancel();
  await until(async () => (await admission.inspect()).open === 0);
  const spent = await Promise.all(['waiting', 'unsure', 'again'].map(spentBy));
  expect(spent.map((tokens = 0) => tokens > 0)).toEqual([false, true, true]);
});

it('several answers that were refused cost nothing either, unless one of them had begun', async () => {
  const { ask, say } = createBench();
  for (const id of ['none', 'one']) await ask(id, 'hi', nothing, undefined, 2).begin();
  say('none', [refused]);
  say('onec1', [start]);
  say('one', [refused]);
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('none')).toBe(0);
  expect(await spentBy('one')).toBeGreaterThan(0);
});

it('the service time of a request with several answers is their mean, not their sum', async () => {
  const { ask, say, pass } = createBench();
  const answer = ask('several', 'hi', nothing, { requestId: 'several', format: 'openai' } as Exchange, 3);
  await answer.begin();
  for (const id of ['several', 'severalc1', 'severalc2']) {
    say(id, [start]);
    pass(200);
    say(id, [finish({ inputTokens: 2, outputTokens: 1 })], 1);
  }
  expect(Number(await until(() => redis.get(meanKeyOf('several'))))).toBe(200);
});

it('service times come from generations that ran to their end, not from those that failed at once', async () => {
  const { ask, say, pass } = createBench();
  await ask('failing', 'hi').begin();
  say('failing', [start]);
  pass(5);
  say('failing', [refused], 1);
  await until(async () => (await admission.inspect()).open === 0);
  expect(await redis.get(meanKeyOf('failing'))).toBe(null);
});

it('service times also come from generations that failed or were left after a long time in their slots', async () => {
  const { ask, say, pass } = createBench();
  const silence = { kind: 'upstream-failed' as const, message: 'the upstream did not begin its answer' };
  await ask('mute', 'hi').begin();
  say('mute', [start]);
  pass(9_000);
  say('mute', [{ type: 'error', error: silence }], 1);
  expect(Number(await until(() => redis.get(meanKeyOf('mute'))))).toBe(9_000);
  const left = ask('given-up', 'hi');
  await left.begin();
  say('given-up', [start]);
  pass(8_000);
  left.cancel();
  expect(Number(await until(() => redis.get(meanKeyOf('given-up'))))).toBe(8_000);
});

it('several answers whose prompts together exceed the body limit are refused at once', async () => {
  const { ask } = createBench();
  const prompt = 'x'.repeat(400_000);
  // Thrown, not rejected: it waits for nothing.
  expect(() => ask('greedy', prompt, nothing, undefined, 3).begin()).toThrow(
    'the prompt is too large for 3 answers at once: ask for fewer',
  );
  expect((await admission.inspect()).open).toBe(0);
});

it.each([
  ['text', {}, [1, 'text-delta']],
  ['JSON', { output: { type: 'json' } }, [0, 'error']],
  ['tools', { tools: [{ name: 'f', parameters: {} }] }, [0, 'error']],
] as [string, Partial<InferenceRequest>, [enqueued: number, last: string]][])(
  'an answer in %s whose worker dies midway goes on from its prefix only if that is plain text',
  async (id, wanted, becomes) => {
    let enqueued = 0;
    const { ask, say, loseWorker } = createBench(async () => {
      enqueued += 1;
    });
    const told: string[] = [];
    const onEvents = (events: GenerationEvent[]) => told.push(...events.map(({ type }) => type));
    const answer = ask(id, 'hi', onEvents, undefined, 1, wanted);
    await answer.begin();
    say(id, [start, text]);
    loseWorker();
    expect([enqueued, told.at(-1)]).toEqual(becomes);
    answer.cancel();
  },
);

it('a place is freed when its worker is done, although the client still reads, and the answer is charged at its end', async () => {
  const { ask, say, pass } = createBench();
  const answer = ask('reader', 'hi');
  await answer.begin();
  say('reader', [start, text]);
  answer.pause();
  pass(300);
  const last = finish({ inputTokens: 2, outputTokens: 5 });
  say('reader', [last], 1);
  const placesOf = async () => (await admission.inspect()).books['sluice:{p:reader}']?.requests;
  await until(async () => (await placesOf()) === 0);
  expect(Number(await redis.get(meanKeyOf('reader')))).toBe(300);
  expect((await admission.inspect()).open).toBe(1);
  answer.resume();
  say('reader', [last], 1);
  await until(async () => (await admission.inspect()).open === 0);
  expect(await spentBy('reader')).toBe(7);
});

it.each([
  ['its client leaves', (answer: Answer) => answer.cancel()],
  [
    'its deadline passes',
    (_answer: Answer, { pass, endOverdue }: ReturnType<typeof createBench>) => {
      pass(60_001);
      endOverdue();
    },
  ],
])(
  'an answer that its client did not read to the end has cost what its worker said: %s',
  async (why, end) => {
    const bench = createBench();
    const id = why.replaceAll(' ', '-');
    const exchange = { requestId: id, format: 'openai' } as Exchange;
    const answer = bench.ask(id, 'hi', nothing, exchange, 2);
    await answer.begin();
    bench.say(id, [start, text]);
    bench.say(`${id}c1`, [start, text]);
    answer.pause();
    const last = finish({ inputTokens: 2, outputTokens: 90, reasoningTokens: 7 });
    // Until it has them all, the ingress is told again and again.
    bench.say(id, [text, last], 1);
    bench.say(id, [text, last], 1);
    end(answer, bench);
    const usage = { inputTokens: 2, outputTokens: 95, reasoningTokens: 7 };
    expect(exchange.usage).toEqual(usage);
    await until(async () => (await admission.inspect()).open === 0);
    expect(await spentBy(id)).toBe(97);
  },
);

it('several answers to a long prompt wait one behind the other, each with the next seed', async () => {
  const sent: { seed: number | undefined; priority: number }[] = [];
  const { ask } = createBench(async (_pool, { request }, priority) => {
    sent.push({ seed: request.sampling.seed, priority });
  });
  const answer = ask('long-pair', longPrompt, nothing, undefined, 2, { sampling: { seed: 7 } });
  await answer.begin();
  expect(sent).toEqual([
    { seed: 7, priority: 1 },
    { seed: 8, priority: expect.toSatisfy((priority: number) => priority > 1) },
  ]);
  answer.cancel();
});

it('a short prompt enters its queue with its admission, and a long one only afterwards', async () => {
  const late: string[] = [];
  const { ask } = createBench(async (_pool, { requestId }) => void late.push(requestId));
  const queue = createJobQueue(redis);
  for (const [id, prompt, depth] of [
    ['short-job', 'hi', 2],
    ['long-job', longPrompt, 0],
  ] as const) {
    const answer = ask(id, prompt, nothing, undefined, 2);
    await answer.begin();
    expect(await queue.depth(id)).toBe(depth);
    answer.cancel();
  }
  expect(late).toEqual(['long-job', 'long-jobc1']);
  await queue.close();
});

it('the output that a request may have is reserved from its budget, for each of its answers', async () => {
  const { ask } = createBench();
  const reserved: (number | undefined)[] = [];
  for (const [id, maxOutputTokens] of [
    ['bounded', 1_000],
    ['small', 10],
  ] as const) {
    const answer = ask(id, 'hi', nothing, undefined, 2, { sampling: { maxOutputTokens } });
    await answer.begin();
    reserved.push(await spentBy(id));
    answer.cancel();
  }
  const [bounded = 0, small = 0] = reserved;
  expect(bounded - small).toBe(2 * 990);
});

it('the output that a client has seen is charged even if this process dies', async () => {
  const { ask, say } = createBench();
  const answer = ask('seen', 'hi');
  await answer.begin();
  say('seen', [start, text]);
  await until(async () => /^\d+ 5 /.test((await redis.hget('sluice:{t:seen}:records', 'seen')) ?? ''));
  answer.cancel();
});

it('the places of several answers are freed once none of their workers is at work, and not before', async () => {
  const { ask, say } = createBench();
  const last = finish({ inputTokens: 2, outputTokens: 5 });
  const open = async (id: string) => {
    const answer = ask(id, 'hi', nothing, undefined, 2);
    await answer.begin();
    say(id, [start, text]);
    say(`${id}c1`, [start, text]);
    answer.pause();
    say(id, [last], 1);
    answer.resume();
    return answer;
  };
  const isHeld = async (pool: string) =>
    (await admission.inspect()).books[`sluice:{p:${pool}}`]?.requests === 1;
  // The second answer has been delivered, and the first waits for its client.
  const late = await open('late');
  say('latec1', [last], 1);
  await until(async () => !(await isHeld('late')));
  // The first has been delivered after its wait, and the second is still at work.
  const early = await open('early');
  expect(await isHeld('early')).toBe(true);
  say('early', [last], 1);
  expect(await isHeld('early')).toBe(true);
  late.cancel();
  early.cancel();
});

describe('what follows a failure', () => {
  const failure: GenerationEvent = { type: 'error', error: { kind: 'upstream-failed', message: 'it broke' } };

  it.each(['before', 'after'])(
    'finds the places given back, if the failure comes %s the reply of admission',
    async (moment) => {
      const { askOr, askFor, say } = createBench();
      // It fills the pool, in which nothing may wait.
      const plan = planOf(moment, 'hi', 4);
      plan.pool = { ...plan.pool, maxWaiting: 0 };
      const next = askFor({ ...plan, id: `${moment}m1`, call: { ...plan.call, choices: 1 } });
      const followed = Promise.withResolvers<void>();
      const begun = askOr(plan, () => followed.resolve(next.begin())).begin();
      if (moment === 'after') await begun;
      say(moment, [start, failure]);
      await followed.promise;
      await begun;
      next.cancel();
    },
  );

  it('begins even if the request was never admitted', async () => {
    const { askOr, pass, endOverdue } = createBench();
    const plan = planOf('refused', 'hi', 1);
    plan.caller = { ...plan.caller, limits: { key: {}, tenant: { 'token-budget': { max: 1 } } } };
    let followed = 0;
    const begun = askOr(plan, () => (followed += 1)).begin();
    pass(60_001);
    endOverdue();
    await begun;
    expect(followed).toBe(1);
  });

  it('begins once if the queue fails as well', async () => {
    const entering = Promise.withResolvers<void>();
    const queued = Promise.withResolvers<void>();
    const { askOr, pass, endOverdue } = createBench(() => {
      entering.resolve();
      return queued.promise;
    });
    const plan = planOf('unqueued', longPrompt, 1);
    let followed = 0;
    const begun = askOr(plan, () => (followed += 1), longPrompt.length).begin();
    await entering.promise;
    pass(60_001);
    endOverdue();
    queued.reject(new SluiceError('unavailable', 'the queue is not reachable'));
    await begun;
    await until(async () => (await redis.zcard('sluice:{p:unqueued}:open')) === 0);
    await until(() => followed > 0);
    await new Promise(setImmediate);
    expect(followed).toBe(1);
  });
});

it('one of several answers that fails ends the whole request at once', async () => {
  const { askWhole, say, running } = createBench();
  const { answered } = askWhole('whole', 2);
  say('wholec1', [start, { type: 'error', error: { kind: 'upstream-failed', message: 'it broke' } }]);
  await expect(answered).rejects.toThrow('it broke');
  expect(running()).toBe(0);
});

it('several whole answers are given once the last of them is there, each in its place', async () => {
  const { askWhole, say, inFlight } = createBench();
  const { answered } = askWhole('both', 2);
  let isGiven = false;
  void answered.then(() => {
    isGiven = true;
  });
  await until(async () => (await inFlight()) === 1);
  const last = finish({ inputTokens: 2, outputTokens: 5 });
  say('bothc1', [start, { type: 'text-delta', block: 0, text: 'first to end' }, last]);
  await new Promise(setImmediate);
  expect(isGiven).toBe(false);
  say('both', [start, text, last]);
  expect(await answered).toMatchObject([
    { content: [{ type: 'text', text: 'five' }] },
    { content: [{ type: 'text', text: 'first to end' }] },
  ]);
});

it('a whole answer that fails before it starts is its error', async () => {
  const { askWhole, say } = createBench();
  const { answered } = askWhole('unstarted', 2);
  const error = { kind: 'upstream-failed', message: 'it broke' } as const;
  say('unstartedc1', [{ type: 'error', error }]);
  await expect(answered).rejects.toMatchObject(error);
});

it('a whole answer that begins anew has nothing of the attempt that was lost', async () => {
  const { askWhole, say, loseWorker } = createBench();
  const { answered } = askWhole('anew', 1);
  // A prefix can't hold this, so the next attempt can't go on from it.
  say('anew', [start, { type: 'reasoning-delta', block: 0, text: 'lost' }]);
  loseWorker();
  say('anew', [start, text, finish({ inputTokens: 2, outputTokens: 5 })], 0, 2);
  expect(await answered).toMatchObject([{ content: [{ type: 'text', text: 'five' }] }]);
});

it('a client has left if its connection ends before its answer, unless it was dropped', async () => {
  const { askWhole, say } = createBench();
  const last = finish({ inputTokens: 2, outputTokens: 5 });
  const whole = askWhole('whole-client', 1);
  say('whole-client', [start, text, last]);
  expect(await whole.answered).toHaveLength(1);
  whole.response.writableFinished = true;
  whole.response.emit('close');
  expect(whole.exchange.outcome).toBe('ok');
  const left = askWhole('left-client', 1);
  left.response.emit('close');
  await expect(left.answered).rejects.toThrow('the client left');
  expect(left.exchange.outcome).toBe('cancelled');
  const dropped = askWhole('dropped-client', 1);
  dropped.exchange.outcome = 'cut';
  dropped.response.emit('close');
  await expect(dropped.answered).rejects.toThrow('the client left');
  expect(dropped.exchange.outcome).toBe('cut');
  await until(async () => (await admission.inspect()).open === 0);
});

it('a client that pauses, reads on or leaves does so for every answer to its prompt', async () => {
  const { ask, say, running } = createBench();
  let told = 0;
  const onEvents = (events: GenerationEvent[]) => {
    told += events.length;
  };
  const answer = ask('pair', 'hi', onEvents, undefined, 2);
  await answer.begin();
  const sayBoth = () => {
    for (const id of ['pair', 'pairc1']) say(id, [start, text]);
  };
  answer.pause();
  sayBoth();
  expect(told).toBe(0);
  answer.resume();
  sayBoth();
  expect(told).toBe(4);
  answer.cancel();
  expect(running()).toBe(0);
});

it('a defect in handling an event ends only its request, and leaves nothing reserved', async () => {
  const { ask, say, defects } = createBench();
  const defect = new TypeError('not encoded');
  const onEvents = () => {
    throw defect;
  };
  await ask('defective', 'hi', onEvents).begin();
  say('defective', [start, text]);
  say('defective', [text], 1);
  expect(defects).toEqual([defect]);
  await until(async () => (await admission.inspect()).open === 0);
});

it('a request ends by the time-out of its model, or else by that of the gateway', async () => {
  const { askFor, pass, endOverdue, running } = createBench();
  const [own, usual] = [planOf('own-limit', 'hi', 1), planOf('usual-limit', 'hi', 1)];
  own.model = { ...own.model, requestTimeoutMs: 5_000 };
  await Promise.all([own, usual].map((plan) => askFor(plan).begin()));
  const left: number[] = [];
  for (const durationMs of [4_999, 1, 54_999, 1]) {
    pass(durationMs);
    endOverdue();
    left.push(running());
  }
  expect(left).toEqual([2, 1, 1, 0]);
});

it('the wait of each generation in its queue is measured, and that of the first is logged', async () => {
  const { ask, say, pass, metrics } = createBench();
  const exchange = { requestId: 'queued', format: 'openai' } as Exchange;
  const answer = ask('queued', 'hi', nothing, exchange, 2);
  await answer.begin();
  for (const id of ['queuedc1', 'queued']) {
    pass(250);
    say(id, [start]);
  }
  expect(exchange.queueWaitMs).toBe(250);
  const { body } = await renderMetrics(metrics.registry);
  expect(body).toContain('sluice_queue_wait_seconds_count{pool="queued"} 2\n');
  expect(body).toContain('sluice_queue_wait_seconds_sum{pool="queued"} 0.75\n');
  answer.cancel();
});

it('a request is logged with attempts and usage if it was admitted or a worker had it, and not otherwise', async () => {
  const { askFor, say } = createBench();
  const exchangeOf = (requestId: string) => ({ requestId, format: 'openai' }) as Exchange;
  const full = planOf('never-admitted', 'hi', 5);
  full.pool = { ...full.pool, maxWaiting: 0 };
  const refusedOne = exchangeOf('never-admitted');
  await expect(askFor(full, refusedOne).begin()).rejects.toThrow('no room for 5 generations');
  expect(refusedOne).toMatchObject({ attempts: 0 });
  expect(refusedOne).not.toHaveProperty('usage');

  const hasty = exchangeOf('hasty');
  const answer = askFor(planOf('hasty', 'hi', 1), hasty);
  const begun = answer.begin();
  say('hasty', [start, text]);
  answer.cancel();
  expect(hasty).toMatchObject({ attempts: 1, worker: 'w', usage: { outputTokens: 5 } });
  await begun;
});

it('the connection that closes behind an answer changes nothing about how it ended', async () => {
  const { ask, pass, endOverdue } = createBench();
  const exchange = { requestId: 'overdue', format: 'openai' } as Exchange;
  const answer = ask('overdue', 'hi', nothing, exchange);
  await answer.begin();
  pass(60_000);
  endOverdue();
  const { attempts, usage } = exchange;
  expect(attempts).toBe(1);
  answer.cancel();
  expect(exchange).toMatchObject({ attempts, usage });
});

it('no more may wait than the settings of the pool say', async () => {
  const { askFor } = createBench();
  const [strict, usual] = [planOf('strict-pool', 'hi', 5), planOf('usual-pool', 'hi', 5)];
  strict.pool = { ...strict.pool, maxWaiting: 0 };
  await expect(askFor(strict).begin()).rejects.toThrow('has 4 slots, and no room for 5 generations at once');
  const answer = askFor(usual);
  await answer.begin();
  answer.cancel();
});
