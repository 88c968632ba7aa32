import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../logging/logger.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { createLifecycle, type LifecycleOptions } from './lifecycle.ts';

class FakeProcess extends EventEmitter {
  readonly sent: object[] = [];
  send = (message: object) => this.sent.push(message);
}

let processEvents: FakeProcess;
let clock: FakeClock;
let exits: number[];
let lines: Record<string, unknown>[];

beforeEach(() => {
  processEvents = new FakeProcess();
  clock = new FakeClock();
  exits = [];
  lines = [];
});

function open(options: Partial<LifecycleOptions> = {}) {
  const logger = createLogger({
    name: 'test',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  return createLifecycle({
    logger,
    drainLimitMs: 10_000,
    exit: (code) => exits.push(code),
    processEvents,
    clock,
    ...options,
  });
}

/** A step that ends when it is told to. */
function heldStep() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen: AbortSignal | undefined;
  return {
    end: resolve,
    step: (signal: AbortSignal) => {
      seen = signal;
      return promise;
    },
    get signal() {
      return seen;
    },
  };
}

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'disconnect'])('%s', (event) => {
  it('runs the steps one after another, last registered first, then exits with 0', async () => {
    const lifecycle = open();
    const order: string[] = [];
    const server = heldStep();
    lifecycle.onDrain('redis', async () => void order.push('redis'));
    lifecycle.onDrain('server', async (signal) => {
      order.push('server begins');
      await server.step(signal);
      order.push('server ends');
    });
    expect(lifecycle.draining.aborted).toBe(false);
    processEvents.emit(event);
    expect(lifecycle.draining.aborted).toBe(true);
    await clock.advance(5_000);
    expect(order).toEqual(['server begins']);
    expect(exits).toEqual([]);
    server.end();
    await clock.advance(0);
    expect(order).toEqual(['server begins', 'server ends', 'redis']);
    expect(exits).toEqual([0]);
    expect(clock.timers).toBe(0);
    expect(lines.map((line) => line.msg)).toEqual(['drain begins', 'drain ends']);
    expect(lines[0]).toMatchObject({ reason: event, limitMs: 10_000 });
  });
});

describe('a drain', () => {
  it('without steps exits with 0', async () => {
    open().drain('told to');
    await clock.advance(0);
    expect(exits).toEqual([0]);
  });

  it('aborts the signal of its steps at the limit and exits with 0 if they end then', async () => {
    const lifecycle = open();
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    lifecycle.drain('test');
    await clock.advance(9_999);
    expect(held.signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(held.signal?.aborted).toBe(true);
    expect(held.signal?.reason).toMatchObject({ kind: 'unavailable', options: { detail: 'drained' } });
    held.end();
    await clock.advance(0);
    expect(exits).toEqual([0]);
  });

  it('exits with 1 when a step does not end within the close limit either, and names the step', async () => {
    const lifecycle = open({ closeLimitMs: 1_000 });
    lifecycle.onDrain('never ends', () => new Promise(() => {}));
    lifecycle.drain('test');
    await clock.advance(10_999);
    expect(exits).toEqual([]);
    await clock.advance(1);
    expect(exits).toEqual([1]);
    expect(lines.at(-1)).toMatchObject({ level: 'error', step: 'never ends' });
  });

  it('gives steps two seconds to end after the limit, if nothing else is said', async () => {
    open().onDrain('never ends', () => new Promise(() => {}));
    processEvents.emit('SIGTERM');
    await clock.advance(11_999);
    expect(exits).toEqual([]);
    await clock.advance(1);
    expect(exits).toEqual([1]);
  });

  it('tells how long it took, and at which step the limit was reached', async () => {
    const lifecycle = open();
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    await clock.advance(60_000);
    lifecycle.drain('told to');
    await clock.advance(10_500);
    held.end();
    await clock.advance(0);
    expect(lines).toMatchObject([
      { msg: 'drain begins', reason: 'told to' },
      { level: 'warn', msg: 'drain limit reached, what is left is ended', step: 'streams' },
      { msg: 'drain ends', durationMs: 10_500, limitReached: true },
    ]);
  });

  it('begins once, whoever asks again', async () => {
    const lifecycle = open();
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    lifecycle.drain('first');
    lifecycle.drain('second');
    held.end();
    await clock.advance(60_000);
    expect(lines.map(({ msg }) => msg)).toEqual(['drain begins', 'drain ends']);
    expect(lines[1]).toMatchObject({ limitReached: false });
    expect(exits).toEqual([0]);
  });

  it('runs the other steps when one fails, and exits with 1', async () => {
    const lifecycle = open();
    const order: string[] = [];
    lifecycle.onDrain('first opened', async () => void order.push('first opened'));
    lifecycle.onDrain('broken', async () => {
      throw new Error('no');
    });
    lifecycle.drain('test');
    await clock.advance(0);
    expect(order).toEqual(['first opened']);
    expect(exits).toEqual([1]);
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'drain step failed', step: 'broken' }));
  });
});

describe('a second signal', () => {
  it('exits with 1 at once', async () => {
    open().onDrain('slow', () => new Promise(() => {}));
    processEvents.emit('SIGTERM');
    await clock.advance(600);
    processEvents.emit('SIGINT');
    expect(exits).toEqual([1]);
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'second signal, exit without waiting',
      signal: 'SIGINT',
      step: 'slow',
    });
  });

  it('is the last: what ends afterwards does not exit again', async () => {
    const held = heldStep();
    open().onDrain('slow', held.step);
    processEvents.emit('SIGTERM');
    await clock.advance(500);
    processEvents.emit('SIGTERM');
    held.end();
    await clock.advance(60_000);
    expect(exits).toEqual([1]);
  });

  it('right after the first is the same keypress, passed on by a parent', async () => {
    open().onDrain('slow', () => new Promise(() => {}));
    await clock.advance(60_000);
    processEvents.emit('SIGINT');
    await clock.advance(100);
    processEvents.emit('SIGINT');
    processEvents.emit('SIGTERM');
    expect(exits).toEqual([]);
  });

  it('is not the loss of the parent, which follows the first in most shutdowns', async () => {
    open().onDrain('slow', () => new Promise(() => {}));
    processEvents.emit('SIGTERM');
    await clock.advance(600);
    processEvents.emit('disconnect');
    expect(exits).toEqual([]);
  });
});

describe.each(['uncaughtException', 'unhandledRejection'])('%s', (event) => {
  it('is logged, drains briefly and exits with 1', async () => {
    const lifecycle = open({ drainLimitMs: 60_000 });
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    processEvents.emit(event, new TypeError('broken'));
    expect(lines[0]).toMatchObject({ level: 'fatal', err: { name: 'TypeError', message: 'broken' } });
    await clock.advance(5_000);
    expect(held.signal?.aborted).toBe(true);
    held.end();
    await clock.advance(0);
    expect(exits).toEqual([1]);
  });

  it.each([
    [{ drainLimitMs: 1_000 }, 1_000],
    [{ drainLimitMs: 60_000 }, 5_000],
  ])('drains with %j for %d ms', async (limits, limitMs) => {
    const lifecycle = open(limits);
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    processEvents.emit(event, 'not even an error');
    expect(lines).toMatchObject([
      { level: 'fatal', err: { kind: 'internal', message: 'a value that is no error was thrown' } },
      { msg: 'drain begins', limitMs },
    ]);
    await clock.advance(limitMs - 1);
    expect(held.signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(held.signal?.aborted).toBe(true);
  });

  it('during a drain lets it go on and turns its exit into 1', async () => {
    const lifecycle = open();
    const held = heldStep();
    lifecycle.onDrain('streams', held.step);
    processEvents.emit('SIGTERM');
    processEvents.emit(event, 'not even an error');
    expect(exits).toEqual([]);
    held.end();
    await clock.advance(0);
    expect(exits).toEqual([1]);
  });
});

describe('announceReady', () => {
  it('tells the parent', () => {
    open().announceReady({ port: 8080 });
    expect(processEvents.sent).toEqual([{ type: 'ready', port: 8080 }]);
  });

  it('does nothing without a parent, nor does disconnect', () => {
    const alone = new EventEmitter();
    const lifecycle = open({ processEvents: alone });
    lifecycle.announceReady({ port: 8080 });
    alone.emit('disconnect');
    expect(lifecycle.draining.aborted).toBe(false);
  });
});
