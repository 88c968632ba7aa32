import { type Claim, saturationRefusal, type Ticket } from '@sluice/admission';
import { SluiceError } from '@sluice/canonical';
import { createIngressMetrics } from '@sluice/runtime';
import { type QueueEntry, WorkerDirectory } from '@sluice/transport';
import { expect, it } from 'vitest';
import { Dispatcher, type DispatcherOptions } from '../dispatch/dispatcher.ts';
import type { Exchange } from '../exchange.ts';
import type { Services } from '../services.ts';
import type { AnswerPlan } from './answer-plan.ts';
import { createAnswer } from './fallback-answer.ts';

const nothing = () => undefined;
const none = async () => undefined;

/**
 * A request to the model `first` with 30 seconds left, for which `second` stands in, which may take 60. `admit` and
 * `settled` answer for both.
 */
function createBench(admit: () => Promise<void>, settled = Promise.resolve()) {
  const now = () => 1_000;
  const metrics = createIngressMetrics();
  const directory = new WorkerDirectory({
    now,
    silenceLimitMs: 1_000,
    onLost: nothing,
    onHeardAgain: nothing,
  });
  const heard = { isListening: () => true, hearsReplies: () => true, repliesReach: () => true };
  const dispatcher = new Dispatcher({
    ...{ queue: { enqueue: none, remove: none }, orders: { send: nothing }, directory, metrics, now },
    ...heard,
  } as unknown as DispatcherOptions);
  const ticket = { priorityOf: () => 1, sawOutput: nothing, freePlaces: nothing, settle: () => settled };
  const asked: string[] = [];
  const deadlines: number[] = [];
  const admission = {
    admit: async ({ model }: Claim, { entries }: { entries(): QueueEntry[] }): Promise<Ticket> => {
      asked.push(model);
      deadlines.push(...entries().map(({ data }) => JSON.parse(String(data)).deadlineAt));
      await admit();
      return { requestId: 'r', ...ticket };
    },
  };
  const model = (id: string) => ({ id, pool: id, fallbacks: [] });
  const pool = (name: string) => ({ name, waitBudgetMs: 1_000 });
  const services = {
    ...{ admission, directory, dispatcher, metrics, ingress: 'i', requestTimeoutMs: 60_000 },
    catalog: { models: new Map([['second', model('second')]]), pools: new Map([['second', pool('second')]]) },
    ...{ now, steadyNow: now, monotonic: now, bodyLimitBytes: 1e6 },
  } as unknown as Services;
  // The members that an answer reads.
  const plan = {
    ...{
      id: 'r',
      deadlineAt: 31_000,
      model: { ...model('first'), fallbacks: ['second'] },
      pool: pool('first'),
    },
    request: { model: 'first', messages: [], sampling: {} },
    call: { choices: 1, stream: false, model: 'first', requestId: 'r', wire: {} },
    caller: { tenant: 't', keyId: 'k', weight: 1, limits: {} },
  } as unknown as AnswerPlan;
  const exchange = { requestId: 'r', format: 'openai' } as Exchange;
  const fail = (): void => {
    const frame = { requestId: 'r', attempt: 1, sequence: 0 };
    const error = { kind: 'upstream-failed' as const, message: 'broken' };
    const frames = [{ ...frame, events: [{ type: 'error' as const, error }] }];
    dispatcher.receive({ worker: 'w', claims: [], frames, running: [], gone: [] });
  };
  const answer = createAnswer(plan, exchange, services, { onEvents: nothing, onDefect: nothing });
  /** Generations that have not ended. */
  const running = () => dispatcher.count;
  return { answer, fail, asked, deadlines, running };
}

it('the next model is asked once the one before has failed and is settled', async () => {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const { answer, fail, asked, running } = createBench(none, settled);
  await answer.begin();
  fail();
  await Promise.resolve();
  expect({ asked, running: running() }).toEqual({ asked: ['first'], running: 0 });
  resolve();
  await expect.poll(() => asked).toEqual(['first', 'second']);
  expect(running()).toBe(1);
  answer.cancel();
  expect(running()).toBe(0);
});

it('the next model has no more time than the request has left', async () => {
  const { answer, fail, deadlines } = createBench(none);
  await answer.begin();
  fail();
  await expect.poll(() => deadlines).toEqual([31_000, 31_000]);
  answer.cancel();
});

it('no other model is asked for a client that leaves before the one that has failed is settled', async () => {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const { answer, fail, asked, running } = createBench(none, settled);
  await answer.begin();
  fail();
  answer.cancel();
  resolve();
  await new Promise(setImmediate);
  expect({ asked, running: running() }).toEqual({ asked: ['first'], running: 0 });
});

it('no other model is asked for a client that leaves before the first one refuses', async () => {
  const { promise: admitted, reject } = Promise.withResolvers<void>();
  const { answer, asked, running } = createBench(() => admitted);
  const begun = answer.begin();
  answer.cancel();
  reject(new SluiceError('saturated', 'full', { refusedBy: saturationRefusal }));
  await expect(begun).rejects.toThrow('full');
  expect({ asked, running: running() }).toEqual({ asked: ['first'], running: 0 });
});
