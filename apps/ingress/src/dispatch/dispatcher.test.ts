import { type GenerationEvent, SluiceError } from '@sluice/canonical';
import { createIngressMetrics, renderMetrics } from '@sluice/runtime';
import {
  type InferenceJob,
  type JobQueue,
  type Order,
  type ReplyBatch,
  WorkerDirectory,
} from '@sluice/transport';
import { describe, expect, it, vi } from 'vitest';
import { Dispatcher } from './dispatcher.ts';
import type { GenerationPlan } from './generation.ts';

const start: GenerationEvent = { type: 'start', id: 'r', model: 'm', createdAt: 1 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const text = (value: string): GenerationEvent => ({ type: 'text-delta', block: 0, text: value, tokens: 1 });

/** A queue in memory that can be away, and can lose what it holds. */
class MemoryQueue implements JobQueue {
  isAway = false;
  /** While this is set, commands stay pending until the test lets them fail. */
  onItsWay: ((error: Error) => void)[] | undefined;
  readonly jobs = new Map<string, { job: InferenceJob; priority: number }>();
  readonly sent: { job: InferenceJob; priority: number }[] = [];

  readonly enqueue = async (_pool: string, job: InferenceJob, priority: number): Promise<void> => {
    this.refuseWhenAway();
    const { onItsWay } = this;
    if (onItsWay) await new Promise<void>((_resolve, reject) => onItsWay.push(reject));
    const entry = { job: structuredClone(job), priority };
    this.sent.push(entry);
    this.jobs.set(`${job.requestId}-${job.attempt}`, entry);
  };
  readonly remove = async (_pool: string, requestId: string, attempt: number): Promise<void> => {
    this.refuseWhenAway();
    this.jobs.delete(`${requestId}-${attempt}`);
  };
  readonly depth = async (): Promise<number> => this.jobs.size;
  readonly areWaiting: JobQueue['areWaiting'] = async (_pool, attempts) => {
    this.refuseWhenAway();
    return attempts.map(({ requestId, attempt }) => this.jobs.has(`${requestId}-${attempt}`));
  };
  readonly close = async (): Promise<void> => undefined;

  private refuseWhenAway(): void {
    if (this.isAway) throw new SluiceError('unavailable', 'the queue is not reachable');
  }
}

function createBench() {
  let now = 1_000_000;
  let isListening = true;
  let hearsReplies = true;
  let repliesReach = true;
  const queue = new MemoryQueue();
  const orders: (Order & { worker: string })[] = [];
  const delivered: GenerationEvent[] = [];
  const waits: number[] = [];
  const metrics = createIngressMetrics();
  const directory = new WorkerDirectory({
    now: () => now,
    silenceLimitMs: 2_000,
    onLost: (worker, reason) => dispatcher.workerLost(worker, reason),
    onHeardAgain: (worker) => dispatcher.heardAgain(worker),
  });
  const dispatcher = new Dispatcher({
    queue,
    orders: { send: (worker, order) => orders.push({ worker, ...order }) },
    directory,
    metrics,
    logger: { debug: () => undefined, warn: () => undefined },
    now: () => now,
    isListening: () => isListening,
    hearsReplies: () => hearsReplies,
    repliesReach: () => repliesReach,
  });
  const plan = (changes: Partial<GenerationPlan> = {}): GenerationPlan => ({
    requestId: 'r',
    pool: 'chat',
    isPlainText: true,
    readerFormat: 'openai',
    hasShown: () => true,
    enter: (job) => queue.enqueue('chat', job, 7),
    job: {
      version: 1,
      requestId: changes.requestId ?? 'r',
      replyTo: 'mine',
      tenant: 'acme',
      model: 'm',
      deadlineAt: now + 100_000,
      request: { model: 'm', messages: [], sampling: {} },
    },
    onEvents: (events) => delivered.push(...events),
    onClaimed: (waitMs) => waits.push(waitMs),
    onAnotherAttempt: () => undefined,
    onWorkerDone: () => undefined,
    ...changes,
  });
  const say = (changes: Partial<ReplyBatch>, worker = 'w1'): void =>
    dispatcher.receive({ worker, claims: [], frames: [], running: [], gone: [], ...changes });
  return {
    dispatcher,
    directory,
    queue,
    orders,
    delivered,
    waits,
    metrics,
    plan,
    say,
    claim: (attempt = 1, worker = 'w1') => say({ claims: [{ requestId: 'r', attempt }] }, worker),
    frame: (sequence: number, events: GenerationEvent[], attempt = 1, worker = 'w1') =>
      say({ frames: [{ requestId: 'r', attempt, sequence, events }] }, worker),
    /** Workers that live, and announce themselves at every step. */
    advance: (durationMs: number, living: readonly string[] = ['w1']) => {
      for (const end = now + durationMs; now < end; ) {
        now += 250;
        for (const worker of living) {
          const pools = { chat: { slots: 1, resume: 'exact' as const } };
          directory.receive({ type: 'presence', worker, state: 'ready', pools });
        }
        dispatcher.tick();
      }
    },
    /** Presence may be unable to reach us while replies can, but not the other way round. Those may only be late. */
    listen: (isUp: boolean, toReplies = isUp, reach = toReplies) => {
      isListening = isUp;
      hearsReplies = toReplies;
      repliesReach = reach;
    },
  };
}

/** A bench with a request in its queue. */
async function createWaiting(changes?: Partial<GenerationPlan>) {
  const bench = createBench();
  const dispatched = bench.dispatcher.open(bench.plan(changes));
  await dispatched.begin();
  return { ...bench, dispatched };
}

/** A bench whose first attempt is lost, and whose second is on its way to Redis; `fail` tells that it failed there. */
async function sendSecondAttempt() {
  const bench = await createWaiting();
  bench.claim();
  bench.queue.onItsWay = [];
  bench.directory.receive({ type: 'exited', worker: 'w1' });
  const [fail] = bench.queue.onItsWay;
  bench.queue.onItsWay = undefined;
  return { bench, fail };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('an ingress that cannot hear replies refuses requests after a while, until it can again', () => {
  const { dispatcher, advance, listen } = createBench();
  listen(false);
  advance(2_000);
  dispatcher.checkHearing();
  advance(250);
  expect(() => dispatcher.checkHearing()).toThrow(
    expect.objectContaining({
      message: 'no answer reaches the gateway at the moment',
      options: { refusedBy: 'redis', retryAfterMs: 1_000 },
    }),
  );
  listen(true);
  dispatcher.checkHearing();
});

it('an ingress whose subscription is cut for a moment refuses nothing, however long it heard before', () => {
  const { dispatcher, advance, listen } = createBench();
  advance(10_000);
  listen(false);
  dispatcher.checkHearing();
  advance(2_000);
  dispatcher.checkHearing();
});

it('an ingress whose replies are merely long on their way refuses nothing', () => {
  const { dispatcher, advance, listen } = createBench();
  listen(false, false, true);
  advance(10_000);
  dispatcher.checkHearing();
});

it('an ingress that hears replies but no presence takes requests', () => {
  const { dispatcher, advance, listen } = createBench();
  listen(false, true);
  advance(10_000);
  dispatcher.checkHearing();
});

describe('a generation', () => {
  it('waits in its pool with its priority', async () => {
    const { queue, dispatcher } = await createWaiting();
    expect(queue.sent).toMatchObject([
      { priority: 7, job: { requestId: 'r', attempt: 1, enqueuedAt: 1_000_000 } },
    ]);
    expect(queue.sent[0]?.job).not.toHaveProperty('resume');
    expect(dispatcher.count).toBe(1);
  });

  it('that Redis does not take is refused, and nothing of it stays', async () => {
    const { dispatcher, queue, plan } = createBench();
    queue.isAway = true;
    await expect(dispatcher.open(plan()).begin()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(dispatcher.count).toBe(0);
  });

  it('gets its own frames, until its end', async () => {
    const bench = await createWaiting();
    const others: GenerationEvent[] = [];
    await bench.dispatcher
      .open(bench.plan({ requestId: 'other', onEvents: (events) => others.push(...events) }))
      .begin();
    bench.claim();
    bench.frame(0, [start, text('a')]);
    expect(bench.dispatched.deliveredTokens).toBe(1);
    bench.frame(1, [finish]);
    expect(bench.delivered).toEqual([start, text('a'), finish]);
    expect([others, bench.dispatcher.count, bench.dispatched.attempts]).toEqual([[], 1, 1]);
  });

  it('tells how long it has waited, once, by whatever comes first', async () => {
    const claimed = await createWaiting();
    claimed.advance(500);
    claimed.claim();
    claimed.advance(500);
    claimed.frame(0, [start]);
    expect(claimed.waits).toEqual([500]);
    const overtaken = await createWaiting();
    overtaken.advance(750);
    overtaken.frame(0, [start]);
    expect(overtaken.waits).toEqual([750]);
    overtaken.claim();
    expect(overtaken.waits).toHaveLength(1);
    const beaten = await createWaiting();
    beaten.advance(250);
    beaten.say({ running: [{ requestId: 'r', attempt: 1, next: 0 }] });
    expect(beaten.waits).toEqual([250]);
  });

  it('ends at its deadline, queued or running', async () => {
    const waiting = await createWaiting();
    waiting.advance(100_000);
    expect(waiting.delivered).toMatchObject([{ type: 'error', error: { kind: 'deadline-exceeded' } }]);
    expect([waiting.queue.jobs.size, waiting.dispatcher.count]).toEqual([0, 0]);
    const running = await createWaiting();
    running.claim();
    running.advance(100_000);
    expect(running.delivered).toMatchObject([{ type: 'error', error: { kind: 'deadline-exceeded' } }]);
    expect(running.orders.at(-1)).toMatchObject({ worker: 'w1', kind: 'cancel' });
  });

  it('ends when the gateway shuts down', async () => {
    const { dispatcher, delivered } = await createWaiting();
    dispatcher.failAll();
    expect(delivered).toMatchObject([{ type: 'error', error: { kind: 'unavailable', detail: 'drained' } }]);
    expect(dispatcher.count).toBe(0);
  });

  it('can be paused and resumed', async () => {
    const { dispatched, claim, frame, delivered, orders } = await createWaiting();
    claim();
    dispatched.pause();
    frame(0, [start]);
    expect(delivered).toEqual([]);
    dispatched.resume();
    expect(orders).toMatchObject([{ kind: 'resend', sequence: 0 }]);
  });

  it('tells that its worker is done while it is paused', async () => {
    const onWorkerDone = vi.fn();
    const { dispatched, frame } = await createWaiting({ onWorkerDone });
    dispatched.pause();
    frame(0, [start]);
    expect(onWorkerDone).not.toHaveBeenCalled();
    frame(1, [finish]);
    expect(onWorkerDone.mock.calls).toEqual([[{}]]);
  });

  it('is counted: attempts after the first, questions for frames, and frames that are not delivered', async () => {
    const { metrics, dispatched, frame, say, directory } = await createWaiting();
    frame(0, [start]);
    frame(0, [start]);
    say({ frames: [{ requestId: 'another', attempt: 1, sequence: 0, events: [start] }] });
    frame(2, [text('b')]);
    dispatched.pause();
    frame(1, [text('a')]);
    dispatched.resume();
    directory.receive({ type: 'exited', worker: 'w1' });
    frame(1, [text('a')]);
    const { body } = await renderMetrics(metrics.registry);
    const counted = body.match(/^sluice_(attempts|resends|frames_dropped)_total.* [1-9]\d*$/gm);
    expect(counted?.sort()).toEqual([
      'sluice_attempts_total{reason="exited"} 1',
      'sluice_frames_dropped_total{reason="duplicate"} 1',
      'sluice_frames_dropped_total{reason="old-attempt"} 1',
      'sluice_frames_dropped_total{reason="paused"} 1',
      'sluice_frames_dropped_total{reason="unknown"} 1',
      'sluice_resends_total{reason="missing"} 1',
      'sluice_resends_total{reason="paused"} 1',
    ]);
  });

  it('that an engine refuses is tried again, unless its client has seen something beside the content', async () => {
    const sound: GenerationEvent = { type: 'opaque', format: 'openai', value: { delta: { audio: 'x' } } };
    const refused: GenerationEvent = { type: 'error', error: { kind: 'unavailable', message: 'busy' } };
    const attemptsOf = async (readerFormat: string | undefined) => {
      const bench = createBench();
      await bench.dispatcher.open(bench.plan({ readerFormat })).begin();
      bench.frame(0, [start, sound, refused]);
      return bench.queue.sent.length;
    };
    expect(await attemptsOf('openai')).toBe(1);
    expect(await attemptsOf('gemini')).toBe(2);
    expect(await attemptsOf(undefined)).toBe(2);
  });
});

describe('a generation that asks whether it may enter', () => {
  it('and is refused leaves nothing, and removes nothing from the queue', async () => {
    const { dispatcher, plan, queue } = createBench();
    const removed = vi.spyOn(queue, 'remove');
    const enter = async (): Promise<void> => {
      throw new SluiceError('saturated', 'full');
    };
    await expect(dispatcher.open(plan({ enter })).begin()).rejects.toMatchObject({ kind: 'saturated' });
    expect([dispatcher.count, removed.mock.calls]).toEqual([0, []]);
  });

  it('and gets no reply is removed from the queue, because it may be there', async () => {
    const { dispatcher, plan, queue } = createBench();
    const enter = async (job: InferenceJob): Promise<void> => {
      await queue.enqueue('chat', job, 7);
      throw new SluiceError('unavailable', 'no answer');
    };
    await expect(dispatcher.open(plan({ enter })).begin()).rejects.toMatchObject({ kind: 'unavailable' });
    await settle();
    expect([dispatcher.count, queue.jobs.size]).toEqual([0, 0]);
  });

  it('is removed, but not before it is there, if its client has left meanwhile', async () => {
    const { dispatcher, plan, queue } = createBench();
    const removed = vi.spyOn(queue, 'remove');
    const answer = Promise.withResolvers<void>();
    const enter = (job: InferenceJob): Promise<void> =>
      answer.promise.then(() => queue.enqueue('chat', job, 7));
    const dispatched = dispatcher.open(plan({ enter }));
    const begun = dispatched.begin();
    dispatched.cancel();
    expect(removed).not.toHaveBeenCalled();
    answer.resolve();
    await begun;
    await settle();
    expect([queue.sent.length, queue.jobs.size, dispatcher.count]).toEqual([1, 0, 0]);
  });

  it('can be answered and paused before its admission is known', async () => {
    const bench = createBench();
    const answer = Promise.withResolvers<void>();
    const dispatched = bench.dispatcher.open(bench.plan({ enter: () => answer.promise }));
    const begun = dispatched.begin();
    bench.frame(0, [start]);
    dispatched.pause();
    bench.frame(1, [finish]);
    expect(bench.delivered).toEqual([start]);
    answer.resolve();
    await begun;
    dispatched.resume();
    bench.frame(1, [finish]);
    expect(bench.delivered).toEqual([start, finish]);
  });
});

describe('a client that leaves', () => {
  it('takes the waiting job out', async () => {
    const { dispatched, queue, dispatcher, delivered } = await createWaiting();
    dispatched.cancel();
    dispatched.cancel();
    await settle();
    expect([queue.jobs.size, dispatcher.count, delivered]).toEqual([0, 0, []]);
  });

  it('stops the worker that has taken it, also when its claim comes later or its cancel was lost', async () => {
    const { dispatched, claim, frame, orders, delivered } = await createWaiting();
    dispatched.cancel();
    claim();
    frame(0, [start]);
    expect(orders).toEqual(
      Array(2).fill({ worker: 'w1', kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 }),
    );
    expect(delivered).toEqual([]);
  });

  it('changes nothing when it has had the whole answer', async () => {
    const { dispatched, frame, orders } = await createWaiting();
    frame(0, [start, finish]);
    dispatched.cancel();
    expect(orders).toMatchObject([{ kind: 'acknowledge' }]);
  });
});

describe('a job that neither waits nor runs', () => {
  /** Looks once a second, while these workers live. */
  const look = async (
    { dispatcher, advance }: Pick<ReturnType<typeof createBench>, 'dispatcher' | 'advance'>,
    times: number,
    living: readonly string[] = ['w1'],
  ): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      await dispatcher.lookForLost();
      advance(1_000, living);
    }
  };

  it('is sent again before all others, when two looks have missed it', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    await look(bench, 1);
    expect(bench.queue.sent).toHaveLength(1);
    await look(bench, 1);
    expect(bench.queue.sent[1]).toMatchObject({ priority: 1, job: { requestId: 'r', attempt: 2 } });
    expect(bench.dispatched.attempts).toBe(2);
    bench.queue.jobs.clear();
    bench.advance(2_250);
    await look(bench, 1);
    expect(bench.queue.sent).toHaveLength(2);
    await look(bench, 1);
    expect(bench.queue.sent).toHaveLength(3);
  });

  it('is sent again however many wait that came before it', async () => {
    const bench = createBench();
    const ids = Array.from({ length: 1_200 }, (_, index) => `r${index}`);
    for (const requestId of ids) await bench.dispatcher.open(bench.plan({ requestId })).begin();
    bench.queue.jobs.delete('r500-1');
    bench.queue.jobs.delete('r1199-1');
    bench.advance(2_250);
    await look(bench, 2);
    expect(bench.queue.sent.slice(1_200)).toMatchObject([
      { job: { requestId: 'r500', attempt: 2 } },
      { job: { requestId: 'r1199', attempt: 2 } },
    ]);
  });

  it('is not looked for while it may be on its way', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    for (let time = 0; time < 7; time += 1) {
      bench.advance(250);
      await bench.dispatcher.lookForLost();
    }
    expect(bench.queue.sent).toHaveLength(1);
  });

  it('is looked for once while Redis takes its time to answer', async () => {
    const bench = await createWaiting();
    bench.advance(2_250);
    const answer = Promise.withResolvers<boolean[]>();
    const asked = vi.spyOn(bench.queue, 'areWaiting').mockReturnValue(answer.promise);
    const looking = [bench.dispatcher.lookForLost(), bench.dispatcher.lookForLost()];
    expect(asked).toHaveBeenCalledTimes(1);
    answer.resolve([true]);
    await Promise.all(looking);
    await bench.dispatcher.lookForLost();
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('is given up when it vanished with three workers, which had no time to say that they had it', async () => {
    const bench = await createWaiting();
    for (const worker of ['w1', 'w2', 'w3']) {
      bench.queue.jobs.clear();
      bench.advance(250, [worker, 'idle']);
      bench.directory.receive({ type: 'exited', worker });
      await look(bench, 6, ['idle']);
    }
    expect(bench.queue.sent).toHaveLength(3);
    expect(bench.delivered).toMatchObject([{ type: 'error', error: { detail: 'poison', retryable: false } }]);
  });

  it('is not given up for the silences of its only worker, which lives', async () => {
    const bench = await createWaiting();
    for (const attempt of [1, 2, 3]) {
      bench.claim(attempt);
      bench.advance(2_500, ['idle']);
      expect(bench.queue.sent).toHaveLength(attempt + 1);
      bench.advance(250);
    }
    expect(bench.delivered).toEqual([]);
    bench.frame(0, [start, finish], 4);
    expect(bench.delivered).toEqual([start, finish]);
  });

  it('is not given up for deaths before it was put into the queue', async () => {
    const bench = createBench();
    for (const worker of ['w1', 'w2', 'w3']) {
      bench.advance(250, [worker, 'idle']);
      bench.directory.receive({ type: 'exited', worker });
    }
    await bench.dispatcher.open(bench.plan()).begin();
    for (let time = 1; time <= 3; time += 1) {
      bench.queue.jobs.clear();
      for (let second = 0; second < 6; second += 1) {
        await bench.dispatcher.lookForLost();
        bench.advance(1_000, ['idle']);
      }
    }
    expect(bench.queue.sent).toHaveLength(4);
    expect(bench.delivered).toEqual([]);
  });

  it('may be with a worker that lives and had no time to say so', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(1_000, ['w1', 'w2']);
    // From here on w2 is starved: its frames still arrive, but not its announcements.
    for (let second = 0; second < 4; second += 1) {
      bench.say({}, 'w2');
      await look(bench, 1);
    }
    expect(bench.queue.sent).toHaveLength(1);
    bench.claim(1, 'w2');
    await look(bench, 5, ['w1', 'w2']);
    expect(bench.queue.sent).toHaveLength(1);
  });

  it('is sent again when the worker that may have it falls silent', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250, ['w1', 'w2']);
    await look(bench, 3);
    expect(bench.queue.sent).toHaveLength(1);
    await look(bench, 1);
    expect(bench.queue.sent).toHaveLength(2);
  });

  it('is not missed while we could not hear of a claim', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    await look(bench, 1);
    bench.listen(false);
    await look(bench, 9);
    expect(bench.queue.sent).toHaveLength(1);
    bench.listen(true);
    await look(bench, 2);
    expect(bench.queue.sent).toHaveLength(2);
  });

  it('is not missed while a worker of its pool reads what it has claimed', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    const pools = { chat: { slots: 1, resume: 'exact' as const, isReading: true as const } };
    for (let second = 0; second < 9; second += 1) {
      bench.directory.receive({ type: 'presence', worker: 'w1', state: 'ready', pools });
      await look(bench, 1);
    }
    expect(bench.queue.sent).toHaveLength(1);
    await look(bench, 2);
    expect(bench.queue.sent).toHaveLength(2);
  });

  it('is not missed while it waits, or when it was claimed between two looks', async () => {
    const waiting = await createWaiting();
    waiting.advance(10_000);
    await look(waiting, 5);
    expect(waiting.queue.sent).toHaveLength(1);
    waiting.queue.jobs.clear();
    await look(waiting, 1);
    waiting.claim();
    await look(waiting, 3);
    expect(waiting.queue.sent).toHaveLength(1);
  });

  it('is not missed by two looks between which it was seen to wait', async () => {
    const bench = await createWaiting();
    const [job] = bench.queue.jobs;
    bench.advance(2_250);
    for (const isThere of [false, true, false]) {
      bench.queue.jobs.clear();
      if (isThere && job) bench.queue.jobs.set(...job);
      await look(bench, 1);
    }
    expect(bench.queue.sent).toHaveLength(1);
  });

  it('is not missed by a look at the attempt before it', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    const { areWaiting } = bench.queue;
    const answer = Promise.withResolvers<void>();
    vi.spyOn(bench.queue, 'areWaiting').mockImplementationOnce(async (pool, attempts) => {
      const waiting = await areWaiting(pool, attempts);
      await answer.promise;
      return waiting;
    });
    const looking = bench.dispatcher.lookForLost();
    // Meanwhile it was claimed after all, and its worker has died.
    bench.claim(1, 'w2');
    bench.directory.receive({ type: 'exited', worker: 'w2' });
    await settle();
    expect(bench.queue.sent).toHaveLength(2);
    bench.queue.jobs.clear();
    answer.resolve();
    await looking;
    bench.advance(2_250);
    await look(bench, 1);
    expect(bench.queue.sent).toHaveLength(2);
    await look(bench, 2);
    expect(bench.queue.sent).toHaveLength(3);
  });

  it('is not missed while Redis cannot be asked', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.queue.isAway = true;
    bench.advance(10_000);
    await look(bench, 5);
    expect(bench.queue.sent).toHaveLength(1);
    bench.queue.isAway = false;
    await look(bench, 2);
    expect(bench.queue.sent).toHaveLength(2);
  });

  it('that Redis does not take again is sent with a later tick', async () => {
    const bench = await createWaiting();
    bench.claim();
    // A tick has found nothing to do while it ran.
    bench.advance(250, ['w1', 'w2']);
    bench.queue.isAway = true;
    bench.directory.receive({ type: 'exited', worker: 'w1' });
    await settle();
    bench.advance(1_000, ['w2']);
    await settle();
    expect(bench.queue.sent).toHaveLength(1);
    bench.queue.isAway = false;
    bench.advance(250, ['w2']);
    await settle();
    expect(bench.queue.sent[1]?.job.attempt).toBe(2);
    bench.advance(1_000, ['w2']);
    expect(bench.queue.sent).toHaveLength(2);
  });

  it('counts as claimed by the worker that took it, even if the reply to its enqueueing was lost', async () => {
    const bench = await createWaiting();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    bench.queue.onItsWay = [];
    await look(bench, 2);
    bench.queue.onItsWay[0]?.(new Error('timed out'));
    await settle();
    bench.claim(2);
    expect(bench.waits).toHaveLength(1);
    // The failed command is not sent again, because the attempt has been claimed.
    bench.queue.onItsWay = undefined;
    bench.directory.receive({ type: 'exited', worker: 'w1' });
    bench.advance(250, ['w2']);
    await settle();
    expect(bench.queue.sent.map(({ job }) => job.attempt)).toEqual([1, 3]);
  });

  it('does not disturb the attempt after it, when it fails only then', async () => {
    const { bench, fail } = await sendSecondAttempt();
    // The second attempt was enqueued, claimed and lost with its worker before the reply to its enqueueing came.
    bench.claim(2, 'w2');
    bench.say({ gone: [{ requestId: 'r', attempt: 2, from: 0 }] }, 'w2');
    await settle();
    expect(bench.queue.sent.map(({ job }) => job.attempt)).toEqual([1, 3]);
    fail?.(new Error('timed out'));
    await settle();
    bench.queue.jobs.clear();
    bench.advance(2_250);
    await look(bench, 2);
    expect(bench.queue.sent.map(({ job }) => job.attempt)).toEqual([1, 3, 4]);
  });

  it('is sent again, although the command of the attempt before it fails later', async () => {
    const { bench, fail } = await sendSecondAttempt();
    bench.queue.isAway = true;
    bench.claim(2, 'w2');
    bench.say({ gone: [{ requestId: 'r', attempt: 2, from: 0 }] }, 'w2');
    await settle();
    fail?.(new Error('timed out'));
    await settle();
    bench.queue.isAway = false;
    bench.advance(250, ['w2']);
    await settle();
    expect(bench.queue.sent.map(({ job }) => job.attempt)).toEqual([1, 3]);
  });

  it('is not sent again once its client has left', async () => {
    const bench = await createWaiting();
    bench.claim();
    bench.queue.isAway = true;
    bench.directory.receive({ type: 'exited', worker: 'w1' });
    await settle();
    bench.dispatched.cancel();
    bench.queue.isAway = false;
    bench.advance(1_000, ['w2']);
    await settle();
    expect(bench.queue.sent).toHaveLength(1);
  });
});

describe('a pool without workers', () => {
  it('lets a request wait ten seconds for one, and not more', async () => {
    const { advance, delivered } = await createWaiting();
    advance(9_750, []);
    expect(delivered).toEqual([]);
    advance(500, []);
    expect(delivered).toMatchObject([{ type: 'error', error: { kind: 'unavailable', retryAfterMs: 5_000 } }]);
  });

  it('starts its time anew when one comes', async () => {
    const { advance, delivered } = await createWaiting();
    advance(9_000, []);
    advance(1_000, ['w1']);
    // The worker falls silent; ten more seconds begin when that is noticed.
    advance(11_000, []);
    expect(delivered).toEqual([]);
  });

  it('lets what its last worker hands over wait as long, even if another has waited in vain before', async () => {
    const { directory, dispatcher, plan, advance, claim, frame, delivered } = await createWaiting();
    advance(250);
    claim();
    frame(0, [start, text('a')]);
    const others: GenerationEvent[] = [];
    await dispatcher.open(plan({ requestId: 'other', onEvents: (events) => others.push(...events) })).begin();
    const goes = { type: 'presence', worker: 'w1', pools: {} } as const;
    for (let second = 0; second < 30; second += 1) {
      directory.receive({ ...goes, state: 'ready' });
      advance(1_000, []);
    }
    expect(others).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
    directory.receive({ ...goes, state: 'draining' });
    advance(9_750, []);
    expect(delivered).toEqual([start, text('a')]);
    advance(500, []);
    expect(delivered.slice(2)).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
  });

  it('may have workers that we cannot hear', async () => {
    const { advance, delivered, listen } = await createWaiting();
    listen(false);
    advance(30_000, []);
    expect(delivered).toEqual([]);
  });

  it('lets a request wait as long again once we can hear', async () => {
    const { advance, delivered, listen } = await createWaiting();
    advance(9_000, []);
    listen(false);
    advance(5_000, []);
    listen(true);
    advance(9_750, []);
    expect(delivered).toEqual([]);
    advance(500, []);
    expect(delivered).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
  });
});

describe('a worker', () => {
  it('that dies hands its requests to the next, with what was delivered', async () => {
    const { directory, advance, claim, frame, queue } = await createWaiting();
    advance(250);
    claim();
    frame(0, [start, text('a')]);
    directory.receive({ type: 'exited', worker: 'w1' });
    await settle();
    expect(queue.sent[1]).toMatchObject({ priority: 1, job: { attempt: 2, resume: { outputTokens: 1 } } });
  });

  it('whose last message comes after its death passes what it claimed on to the next', async () => {
    const { directory, claim, queue } = await createWaiting();
    directory.receive({ type: 'exited', worker: 'w1' });
    claim();
    await settle();
    expect(queue.sent[1]?.job.attempt).toBe(2);
  });

  it('that says nothing more about what it has claimed is asked soon, and loses it if it does not have it', async () => {
    const { claim, advance, orders, say, queue } = await createWaiting();
    claim();
    advance(2_000);
    expect(orders).toEqual([]);
    advance(250);
    expect(orders).toMatchObject([{ worker: 'w1', kind: 'resend', sequence: 0 }]);
    say({ gone: [{ requestId: 'r', attempt: 1, from: 0 }] });
    await settle();
    expect(queue.sent[1]).toMatchObject({ priority: 1, job: { attempt: 2 } });
    // The same holds for the next attempt.
    claim(2, 'w2');
    advance(2_250, ['w1', 'w2']);
    expect(orders.at(-1)).toMatchObject({ worker: 'w2', kind: 'resend', attempt: 2, sequence: 0 });
  });

  it('that does not speak of a request any more is asked, again and again', async () => {
    const { claim, advance, orders, say } = await createWaiting();
    claim();
    say({ running: [{ requestId: 'r', attempt: 1, next: 0 }] });
    advance(11_000);
    expect(orders).toEqual([]);
    advance(250);
    expect(orders).toMatchObject([{ worker: 'w1', kind: 'resend', sequence: 0 }]);
    advance(11_250);
    expect(orders).toHaveLength(2);
  });

  it('whose replies can be heard is asked, although its presence cannot', async () => {
    const { claim, advance, listen, orders } = await createWaiting();
    claim();
    listen(false, true);
    advance(2_250);
    expect(orders).toMatchObject([{ worker: 'w1', kind: 'resend', sequence: 0 }]);
  });

  it('that cannot be heard is not asked', async () => {
    const { claim, advance, listen, orders } = await createWaiting();
    claim();
    listen(false);
    advance(30_000);
    expect(orders).toEqual([]);
    listen(true);
    advance(250);
    expect(orders).toHaveLength(1);
  });

  it('that cannot be heard is not lost before it has been silent for as long as one that can', async () => {
    const { claim, advance, listen, queue } = await createWaiting();
    claim();
    listen(false);
    advance(30_000, []);
    listen(true);
    advance(2_000, ['w2']);
    await settle();
    expect(queue.sent).toHaveLength(1);
    advance(250, ['w2']);
    await settle();
    expect(queue.sent[1]?.job.attempt).toBe(2);
  });

  it('that mentions only an older attempt at the request is asked as soon as one that mentions none', async () => {
    const { say, claim, advance, orders } = await createWaiting();
    claim();
    say({ running: [{ requestId: 'r', attempt: 1, next: 0 }] });
    say({ gone: [{ requestId: 'r', attempt: 1, from: 0 }] });
    claim(2);
    orders.length = 0;
    for (const durationMs of [1_000, 1_250]) {
      say({ running: [{ requestId: 'r', attempt: 1, next: 0 }] });
      advance(durationMs);
    }
    expect(orders).toContainEqual({ worker: 'w1', kind: 'resend', requestId: 'r', attempt: 2, sequence: 0 });
  });

  it('that mentions the request is not asked', async () => {
    const { say, claim, advance, orders } = await createWaiting();
    claim();
    for (let beat = 0; beat < 6; beat += 1) {
      say({ running: [{ requestId: 'r', attempt: 1, next: 0 }] });
      advance(5_000);
    }
    expect(orders).toEqual([]);
  });

  it('that has lost the frames gives the request to the next', async () => {
    const { say, claim, queue } = await createWaiting();
    claim();
    say({ gone: [{ requestId: 'r', attempt: 1, from: 0 }] });
    await settle();
    expect(queue.sent[1]?.job.attempt).toBe(2);
  });

  it('is asked by all its requests when our subscription was away', async () => {
    const bench = await createWaiting();
    await bench.dispatcher.open(bench.plan({ requestId: 's' })).begin();
    bench.claim();
    bench.say({ claims: [{ requestId: 's', attempt: 1 }] });
    bench.dispatcher.resubscribed();
    expect(bench.orders.map(({ kind, requestId }) => [kind, requestId])).toEqual([
      ['resend', 'r'],
      ['resend', 's'],
    ]);
  });
});
