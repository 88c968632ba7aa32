import type { Ticket } from '@sluice/admission';
import { type GenerationEvent, SluiceError } from '@sluice/canonical';
import { type ServerCodec, serverCodecs } from '@sluice/formats';
import { createIngressMetrics } from '@sluice/runtime';
import { until } from '@sluice/testing';
import { type Order, WorkerDirectory } from '@sluice/transport';
import { expect, it } from 'vitest';
import { Dispatcher, type DispatcherOptions } from '../dispatch/dispatcher.ts';
import type { Exchange } from '../exchange.ts';
import type { Services } from '../services.ts';
import type { Ticking } from '../ticker.ts';
import type { AnswerPlan } from './answer-plan.ts';
import { streamAnswer } from './stream-answer.ts';
import { openTestServer, type Way, ways } from './test-server.ts';

const nothing = () => undefined;
const keepAliveMs = 100;

/** Asks for a stream. The test controls its admission and the time. */
async function ask(way: Way, codec: ServerCodec) {
  const admission = Promise.withResolvers<Ticket>();
  const began = Promise.withResolvers<{ thrown: Promise<unknown> }>();
  let at = 1_000;
  const now = () => at;
  const relays = new Set<Ticking>();
  const directory = new WorkerDirectory({
    now,
    silenceLimitMs: 1_000,
    onLost: nothing,
    onHeardAgain: nothing,
  });
  const queue = { enqueue: async () => undefined, remove: async () => undefined };
  const metrics = createIngressMetrics();
  const ordered: string[] = [];
  const orders = { send: (_worker: string, { kind }: Order) => void ordered.push(kind) };
  const logged: unknown[] = [];
  const logger = { error: ({ err }: { err: unknown }) => void logged.push(err) };
  const options = {
    queue,
    directory,
    metrics,
    logger,
    now,
    orders,
    isListening: () => true,
    hearsReplies: () => true,
    repliesReach: () => true,
  };
  const dispatcher = new Dispatcher(options as unknown as DispatcherOptions);
  const services = {
    ...options,
    steadyNow: now,
    dispatcher,
    admission: { admit: () => admission.promise },
    ticker: relays,
    ...{ ingress: 'i', requestTimeoutMs: 60_000, bodyLimitBytes: 1e6 },
    ...{ monotonic: now, keepAliveMs, stallLimitMs: 60_000 },
  } as unknown as Services;
  const exchange = { requestId: 'r', format: codec.format } as Exchange;
  const plan = {
    ...{ id: 'r', deadlineAt: now() + 60_000 },
    request: { model: 'sim', messages: [], sampling: {} },
    call: { choices: 1, stream: true, model: 'sim', requestId: 'r', wire: {} },
    caller: { tenant: 't', keyId: 'k', weight: 1, limits: { key: {}, tenant: {} } },
    model: { id: 'sim', pool: 'p', fallbacks: [] },
    pool: { name: 'p', waitBudgetMs: 1_000 },
  } as unknown as AnswerPlan;
  const server = await openTestServer(way, (response) => {
    const thrown = streamAnswer(plan, codec, exchange, response, services).then(nothing, (error) => error);
    began.resolve({ thrown });
  });
  const client = new AbortController();
  const { signal } = client;
  const answered = fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: '{}', signal });
  // Tests that look only at the error do not mind that the connection is cut.
  answered.catch(nothing);
  const { thrown } = await began.promise;
  return {
    answered,
    thrown,
    exchange,
    admit: async () => {
      admission.resolve({ sawOutput: nothing, settle: async () => undefined } as unknown as Ticket);
      await admission.promise;
    },
    refuse: (error: unknown) => admission.reject(error),
    pass: (durationMs: number) => {
      at += durationMs;
      for (const relay of relays) if (relay.dueAt <= at) relay.tick();
    },
    endOverdue: () => dispatcher.tick(),
    leave: () => client.abort(),
    /** Makes a worker send these events. */
    say: (sequence: number, events: GenerationEvent[], attempt = 1) => {
      const frames = [{ requestId: 'r', attempt, sequence, events }];
      dispatcher.receive({ worker: 'w', claims: [], frames, running: [], gone: [] });
    },
    loseWorker: () => dispatcher.workerLost('w', 'exited'),
    /** The kinds of the orders that workers were given. */
    ordered,
    /** Errors that were logged. */
    logged,
    /** Generations that have not ended, and relays that are kept alive. */
    open: () => [dispatcher.count, relays.size],
    [Symbol.dispose]: () => server.close(),
  };
}

const refusal = new SluiceError('unavailable', 'admission does not answer');
const cases = ways.flatMap((way) => serverCodecs.map((codec) => ({ way, codec, format: codec.format })));

it.each(cases)(
  'a refusal that comes after a keep-alive ends a stream of $format with its error, over $way',
  async ({ way, codec }) => {
    using asked = await ask(way, codec);
    asked.pass(keepAliveMs);
    const response = await asked.answered;
    expect(response.status).toBe(200);
    asked.refuse(refusal);
    expect(await asked.thrown).toBeUndefined();
    // Reading to the end shows that the end is clean: a cut body would reject.
    expect(await response.text()).toContain(refusal.message);
    expect(asked.exchange.outcome).toBe('unavailable');
  },
);

it('a refusal gets a true status as long as nothing has been written', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    asked.refuse(refusal);
    expect(await asked.thrown).toBe(refusal);
  }
});

it('a refusal that comes after the deadline adds nothing to the answer', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    asked.pass(keepAliveMs);
    const response = await asked.answered;
    asked.pass(60_000);
    asked.endOverdue();
    const text = await response.text();
    asked.refuse(refusal);
    expect(await asked.thrown).toBeUndefined();
    expect(text).toContain('deadline');
    expect(asked.exchange.outcome).toBe('deadline-exceeded');
  }
});

const start: GenerationEvent = { type: 'start', id: 'r', model: 'sim', createdAt: 1 };
const textOf = (text: string): GenerationEvent => ({ type: 'text-delta', block: 0, text, tokens: 1 });

it('a stream ends with its answer', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    asked.say(0, [start, textOf('one'), { type: 'finish', reason: 'stop', usage: {} }]);
    expect(await (await asked.answered).text()).toContain('one');
    expect(asked.exchange.outcome).toBe('ok');
  }
});

it.each(['first', 'late', 'behind a keep-alive'])(
  'a stream whose worker is lost before anything is shown begins anew, with an admission that comes %s',
  async (when) => {
    const callStart: GenerationEvent = { type: 'tool-call-start', block: 0, id: 'c', name: 'lost' };
    const foreign: GenerationEvent = { type: 'opaque', format: 'another', block: 0, value: 'lost' };
    for (const { way, codec, format } of cases) {
      using asked = await ask(way, codec);
      if (when === 'first') await asked.admit();
      const unseen = format === 'gemini' ? callStart : foreign;
      asked.say(0, [start, when === 'late' ? textOf('lost') : unseen]);
      if (when === 'behind a keep-alive') {
        await asked.admit();
        asked.pass(keepAliveMs);
        await asked.answered;
      }
      asked.loseWorker();
      asked.say(0, [start, textOf('one'), { type: 'finish', reason: 'stop', usage: {} }], 2);
      if (when === 'late') await asked.admit();
      const text = await (await asked.answered).text();
      expect(text.match(/"one"/g)).toHaveLength(1);
      expect(text).not.toMatch(/lost|error/);
      expect(text.match(/"role":"assistant"/g) ?? [undefined]).toHaveLength(1);
    }
  },
);

it('a stream whose worker is lost after something was shown ends with that error', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    asked.say(0, [start, textOf('one')]);
    asked.loseWorker();
    expect(await (await asked.answered).text()).toMatch(
      /"one".*the worker that generated the answer was lost/s,
    );
  }
});

it('an error that comes before anything else is told with its status', async () => {
  const error = { kind: 'upstream-failed', message: 'it broke' } as const;
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    asked.say(0, [start, { type: 'error', error }]);
    const response = await asked.answered;
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('it broke')]);
  }
});

it('a model that stands in is named once its answer begins, and not before', async () => {
  for (const { way, codec } of cases) {
    for (const isLate of [false, true]) {
      using asked = await ask(way, codec);
      await asked.admit();
      Object.assign(asked.exchange, { model: 'next', askedModel: 'first' });
      if (isLate) asked.pass(keepAliveMs);
      else asked.say(0, [start, textOf('one')]);
      const response = await asked.answered;
      expect(response.headers.get('x-sluice-model')).toBe(isLate ? null : 'next');
    }
  }
});

it('a client that leaves its stream ends the generation, and nothing of the stream stays', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    asked.say(0, [start, textOf('one')]);
    await asked.answered;
    expect(asked.open()).toEqual([1, 1]);
    asked.leave();
    await until(() => asked.exchange.outcome !== undefined);
    expect([asked.exchange.outcome, asked.ordered, ...asked.open()]).toEqual(['cancelled', ['cancel'], 0, 0]);
  }
});

it('a client that leaves before it has read its end has left, though the end was there', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    // More than the buffers of two processes and of their kernel hold.
    const pieces = Array.from({ length: 64 }, () => textOf('x'.repeat(1024 * 1024)));
    asked.say(0, [start, ...pieces, { type: 'finish', reason: 'stop', usage: {} }]);
    await asked.answered;
    expect(asked.exchange.outcome).toBe('ok');
    asked.leave();
    await until(() => asked.exchange.outcome !== 'ok');
    expect(asked.exchange.outcome).toBe('cancelled');
  }
});

it('a client that stopped reading is sent the rest once it reads again', async () => {
  for (const { way, codec } of cases) {
    using asked = await ask(way, codec);
    await asked.admit();
    asked.say(0, [start]);
    // More than the buffers of two processes and of their kernel hold.
    const piece = 'x'.repeat(1024 * 1024);
    for (let sequence = 1; sequence <= 64; sequence += 1) asked.say(sequence, [textOf(piece)]);
    expect(asked.ordered).not.toContain('resend');
    const reading = (await asked.answered).text().catch(nothing);
    await until(() => asked.ordered.includes('resend'));
    asked.leave();
    await reading;
  }
});

it('a stream whose encoder has a defect is cut, so that no client waits for its end', async () => {
  for (const { way, codec } of cases) {
    const createStreamEncoder: ServerCodec['createStreamEncoder'] = (call) => {
      const encoder = codec.createStreamEncoder(call);
      const push: typeof encoder.push = (event, choice) => {
        if (event.type === 'finish') throw new TypeError('not encoded');
        return encoder.push(event, choice);
      };
      return Object.assign(Object.create(encoder), { push });
    };
    using asked = await ask(way, Object.assign(Object.create(codec), { createStreamEncoder }));
    await asked.admit();
    asked.say(0, [start, textOf('one')]);
    const response = await asked.answered;
    asked.say(1, [{ type: 'finish', reason: 'stop', usage: {} }]);
    await expect(response.text()).rejects.toThrow();
    expect([asked.exchange.outcome, asked.logged]).toEqual(['internal', [new TypeError('not encoded')]]);
  }
});
