import type { ErrorKind, GenerationEvent } from '@sluice/canonical';
import type { Engine, GenerationRun } from '@sluice/engines';
import { FakeClock } from '@sluice/runtime';
import { until } from '@sluice/testing';
import type { ClosedReason, InferenceJob } from '@sluice/transport';
import { describe, expect, test, vi } from 'vitest';
import { Generation, type StopReason } from './generation.ts';

const start: GenerationEvent = { type: 'start', id: 'r1', model: 'm', createdAt: 0 };
const word: GenerationEvent = { type: 'text-delta', block: 0, text: 'word' };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };

/** A generation whose engine the test controls. */
function begin(
  play: (run: GenerationRun) => Promise<void> | void,
  { lifeMs = 60_000, announced = Promise.resolve(), more = {} as Partial<InferenceJob> } = {},
) {
  const clock = new FakeClock();
  let close: (reason: ClosedReason) => void = () => expect.fail('nobody wants to know');
  const written: GenerationEvent[] = [];
  const job: InferenceJob = {
    version: 1,
    requestId: 'r1',
    attempt: 1,
    replyTo: 'i1',
    tenant: 't',
    model: 'm',
    enqueuedAt: clock.now(),
    deadlineAt: clock.now() + lifeMs,
    request: { model: 'm', messages: [], sampling: {} },
    ...more,
  };
  const engine: Engine = {
    slots: 1,
    resume: 'none',
    start: async () => undefined,
    stop: async () => undefined,
    isReady: () => true,
    availability: () => 'here',
    generate: async (_request, run) => play(run),
  };
  const generation = new Generation(job, {
    pool: 'p',
    engine,
    backendModel: 'm',
    limits: { contextTokens: 4096, maxOutputTokens: 512 },
    clock,
    writer: {
      write: (event) => written.push(event),
      whenClosed: (callback) => {
        close = callback;
      },
      announced,
    },
  });
  const outcome = generation.run();
  return { generation, clock, close, written, outcome };
}

/** A generation whose engine has sent one event and waits for its signal. */
async function beginStalled(options?: { lifeMs: number }) {
  const begun = begin(stall, options);
  await until(() => begun.written.length === 2);
  return begun;
}

/** An engine that sends one event and then waits for its signal. */
async function stall(run: GenerationRun): Promise<void> {
  run.emit(start);
  run.emit(word);
  await new Promise<void>((resolve) => {
    if (run.signal.aborted) resolve();
    run.signal.addEventListener('abort', () => resolve());
  });
}

describe('a generation', () => {
  test('reaches the engine only once its claim has been announced', async () => {
    const { promise: announced, resolve } = Promise.withResolvers<void>();
    let isRunning = false;
    const { outcome } = begin(
      (run) => {
        isRunning = true;
        run.emit(finish);
      },
      { announced },
    );
    await new Promise(setImmediate);
    expect(isRunning).toBe(false);
    resolve();
    expect(await outcome).toMatchObject({ kind: 'ok' });
  });

  test('that is cancelled before does not reach it at all', async () => {
    const { promise: announced, resolve } = Promise.withResolvers<void>();
    const { generation, outcome, written } = begin(() => expect.fail('the engine was called'), { announced });
    generation.stop('cancelled');
    resolve();
    expect(await outcome).toEqual({ kind: 'cancelled' });
    expect(written).toEqual([]);
  });

  test('that comes past its deadline does not reach it either, and says so', async () => {
    const { outcome, written, clock } = begin(() => expect.fail('the engine was called'), { lifeMs: -1 });
    expect(await outcome).toEqual({ kind: 'deadline-exceeded' });
    expect(written).toMatchObject([
      { type: 'error', error: { kind: 'deadline-exceeded' }, usage: { inputTokens: 0, outputTokens: 0 } },
    ]);
    expect(clock.timers).toBe(0);
  });

  test('has an id of its own at the model server, and the trace of its client', async () => {
    let told: Partial<GenerationRun> = {};
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const trace = { traceparent, tracestate: 'vendor=1' };
    const play = (run: GenerationRun) => {
      told = run;
      run.emit(finish);
    };
    await begin(play, { more: { attempt: 2, ...trace } }).outcome;
    expect(told).toMatchObject({ id: 'r1', callId: 'r1-2', trace, tenant: 't' });
    // An older ingress wrote down whatever its client sent.
    await begin(play, { more: { traceparent: 'mine\r\nx-a: b' } }).outcome;
    expect(told).not.toHaveProperty('trace');
  });

  test('hands on what the engine says and ends with its end', async () => {
    const { outcome, written } = begin((run) => {
      for (const event of [start, word, finish]) run.emit(event);
    });
    expect(await outcome).toMatchObject({ kind: 'ok' });
    expect(written).toEqual([start, word, finish]);
  });

  test('tells the engine the limits of the model, the format of its client and what it is to go on with', async () => {
    let told: Partial<GenerationRun> = {};
    const resume = { content: [{ type: 'text' as const, text: 'one ' }], outputTokens: 1 };
    const play = (run: GenerationRun) => {
      told = run;
    };
    await begin(play, { more: { clientFormat: 'anthropic', resume } }).outcome;
    expect(told).toMatchObject({
      ...{ contextTokens: 4096, maxOutputTokens: 512 },
      ...{ clientFormat: 'anthropic', resume },
    });
    await begin(play).outcome;
    expect(told).not.toHaveProperty('resume');
  });

  test('tells how long the engine took to its first content, on the clock it was given', async () => {
    const announced = Promise.withResolvers<void>();
    const { outcome, clock } = begin(
      async (run) => {
        run.emit(start);
        await clock.advance(70);
        run.emit(word);
        await clock.advance(5);
        for (const event of [word, finish]) run.emit(event);
      },
      { announced: announced.promise },
    );
    await clock.advance(40);
    announced.resolve();
    expect((await outcome).firstContentMs).toBe(70);
  });

  test('hands on what its engine knows of a failure, where it has failed', async () => {
    const facts = { status: 503, why: 'overloaded' };
    const failure: GenerationEvent = { type: 'error', error: { kind: 'unavailable', message: 'gone' } };
    for (const last of [failure, finish]) {
      const { outcome } = begin((run) => {
        run.onFailure?.(facts);
        run.emit(last);
      });
      expect((await outcome).failure).toEqual(last === failure ? facts : undefined);
    }
  });

  test('says nothing after the terminal event, whatever the engine does', async () => {
    const { outcome, written } = begin((run) => {
      for (const event of [start, finish, word, finish]) run.emit(event);
    });
    await outcome;
    expect(written).toEqual([start, finish]);
  });

  test('ends with an internal error when the engine returns without an end', async () => {
    const { outcome, written } = begin((run) => run.emit(start));
    expect(await outcome).toMatchObject({ kind: 'internal' });
    expect(written.at(-1)).toMatchObject({ type: 'error', error: { kind: 'internal' } });
  });

  test('ends with an internal error when the engine throws, and keeps the text of what it threw', async () => {
    const { outcome, written } = begin(() => {
      throw new Error('a prompt may be in here');
    });
    expect((await outcome).cause).toBeInstanceOf(Error);
    expect(written).toMatchObject([{ type: 'error', error: { kind: 'internal' } }]);
    expect(JSON.stringify(written)).not.toContain('prompt');
  });

  test('that was cancelled aborts the engine and says nothing more', async () => {
    const { generation, outcome, written } = await beginStalled();
    generation.stop('cancelled');
    expect(await outcome).toMatchObject({ kind: 'cancelled' });
    expect(written).toEqual([start, word]);
  });

  test('has ended only once the engine has returned', async () => {
    const { promise: letGo, resolve } = Promise.withResolvers<void>();
    const play = vi.fn(() => letGo);
    const { generation } = begin(play);
    await until(() => play.mock.calls.length === 1);
    let isOver = false;
    const over = generation.ended.then(() => {
      isOver = true;
    });
    generation.stop('cancelled');
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    resolve();
    await over;
  });

  test('whose ingress is gone is aborted', async () => {
    const { close, outcome, written } = await beginStalled();
    close('abandoned');
    expect(await outcome).toMatchObject({ kind: 'cancelled' });
    expect(written).toEqual([start, word]);
  });

  test('whose answer has ended in a part that cannot be passed on is aborted, and has failed', async () => {
    const { close, outcome, written } = await beginStalled();
    close('unsendable');
    expect(await outcome).toEqual({ kind: 'upstream-failed', firstContentMs: 0 });
    expect(written).toEqual([start, word]);
  });

  test('past its deadline is aborted and says so', async () => {
    const { clock, outcome, written } = await beginStalled({ lifeMs: 1_000 });
    await clock.advance(1_000);
    expect(await outcome).toMatchObject({ kind: 'deadline-exceeded' });
    expect(written.at(-1)).toEqual({
      type: 'error',
      error: expect.objectContaining({ kind: 'deadline-exceeded' }),
    });
  });

  test('that is drained says that it may go on elsewhere', async () => {
    const { generation, outcome, written } = await beginStalled();
    generation.stop('drained');
    await outcome;
    expect(written.at(-1)).toMatchObject({ type: 'error', error: { detail: 'drained' } });
  });

  test.each<[StopReason, ErrorKind]>([
    ['deadline', 'deadline-exceeded'],
    ['drained', 'unavailable'],
  ])('that was stopped by %s hears no second reason', async (reason, kind) => {
    const { generation, outcome, written } = await beginStalled();
    generation.stop(reason);
    generation.stop('cancelled');
    expect(await outcome).toMatchObject({ kind });
    expect(written.filter((event) => event.type === 'error')).toHaveLength(1);
  });

  test('leaves no timer behind', async () => {
    const { outcome, clock } = begin((run) => run.emit(finish));
    await outcome;
    expect(clock.timers).toBe(0);
  });
});
