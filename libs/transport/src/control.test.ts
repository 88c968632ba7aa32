import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Bus } from './bus.ts';
import { createOrderSender, decodeOrders, encodeOrders, type Order, subscribeOrders } from './control.ts';
import { FakeBus } from './fake-bus.ts';

const order: fc.Arbitrary<Order> = fc.record({
  kind: fc.constantFrom('cancel', 'resend', 'acknowledge'),
  requestId: fc.string({ unit: 'binary' }),
  attempt: fc.nat(),
  sequence: fc.nat(),
});

const services = { after: () => undefined, now: () => 0 };
const acknowledge = (sequence: number): Order => ({
  kind: 'acknowledge',
  requestId: 'r',
  attempt: 1,
  sequence,
});

/** A sender whose time the test controls, and the sequences that were sent to each worker since the last look. */
function createBench() {
  let now = 0;
  const timers: { at: number; callback: () => void }[] = [];
  const bus = new FakeBus();
  const sender = createOrderSender(bus, 'mine', {
    now: () => now,
    afterTurn: (callback) => timers.push({ at: now, callback }),
    after: (delayMs, callback) => timers.push({ at: now + delayMs, callback }),
  });
  const advance = (byMs: number): void => {
    now += byMs;
    for (const due of timers.filter(({ at }) => at <= now)) {
      timers.splice(timers.indexOf(due), 1);
      due.callback();
    }
  };
  const sent = () => {
    advance(0);
    return bus.published
      .splice(0)
      .map(({ channel, text }) => [
        channel.slice(-1),
        ...decodeOrders(text).orders.map(({ sequence }) => sequence),
      ]);
  };
  return { sender, advance, sent };
}

describe('orders', () => {
  it('that gather are sent at once before the end of the process, and once', async () => {
    const { sender, advance, sent } = createBench();
    sender.send('worker a', acknowledge(1));
    sender.send('worker b', acknowledge(2));
    const flushed = sender.flush();
    expect(sent()).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    await flushed;
    advance(250);
    expect(sent()).toEqual([]);
  });

  it('do not hold up the end of the process while Redis is silent', async () => {
    const timers: (() => void)[] = [];
    const bus = { ...new FakeBus(), publish: () => new Promise<number>(() => undefined) } as unknown as Bus;
    const after = (_delayMs: number, callback: () => void) => void timers.push(callback);
    const sender = createOrderSender(bus, 'mine', { ...services, after, afterTurn: () => undefined });
    sender.send('a', acknowledge(1));
    const flushed = sender.flush();
    for (const callback of timers) callback();
    await flushed;
  });

  it('are decoded to exactly what was encoded', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(order), (ingress, orders) => {
        expect(decodeOrders(encodeOrders(ingress, orders))).toEqual({ ingress, orders });
      }),
    );
  });

  it('of a kind that only a newer version knows are skipped', () => {
    const text = '{"v":1,"i":"mine","o":[["z","r",1,0],["c","r",1,0]]}';
    expect(decodeOrders(text).orders).toEqual([{ kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 }]);
  });

  it('of another version are refused', () => {
    expect(() => decodeOrders('{"v":2}')).toThrow('orders of an unknown version');
  });

  it('of one turn go to each worker in one message, in order', async () => {
    const bus = new FakeBus();
    const turns: (() => void)[] = [];
    const sender = createOrderSender(bus, 'mine', {
      ...services,
      afterTurn: (callback) => turns.push(callback),
    });
    const received: [string, Order, string][] = [];
    for (const worker of ['a', 'b']) {
      await subscribeOrders(bus, worker, (each, ingress) => received.push([worker, each, ingress]));
    }
    const cancel: Order = { kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 };
    const resend: Order = { kind: 'resend', requestId: 's', attempt: 2, sequence: 7 };
    sender.send('a', cancel);
    sender.send('b', cancel);
    sender.send('a', resend);
    expect(turns).toHaveLength(1);
    turns.shift()?.();
    expect(bus.published).toHaveLength(2);
    expect(received).toEqual([
      ['a', cancel, 'mine'],
      ['a', resend, 'mine'],
      ['b', cancel, 'mine'],
    ]);
    sender.send('a', cancel);
    expect(turns).toHaveLength(1);
  });

  it('that only acknowledge wait for those of the next 20 ms, or for the first that does more', async () => {
    const { sender, advance, sent } = createBench();
    sender.send('a', acknowledge(1));
    advance(19);
    sender.send('b', acknowledge(2));
    expect(sent()).toEqual([]);
    advance(1);
    sender.send('a', acknowledge(3));
    expect(sent()).toEqual([
      ['a', 1, 3],
      ['b', 2],
    ]);
    sender.send('a', acknowledge(4));
    sender.send('a', { ...acknowledge(5), kind: 'resend' });
    expect(sent()).toEqual([['a', 4, 5]]);
  });

  it('that only acknowledge do not wait for ever if nothing follows', async () => {
    const { sender, advance, sent } = createBench();
    sender.send('a', acknowledge(1));
    advance(249);
    expect(sent()).toEqual([]);
    advance(1);
    expect(sent()).toEqual([['a', 1]]);
    // What gathers when the time of others is over has time of its own.
    sender.send('a', acknowledge(2));
    advance(20);
    sender.send('a', acknowledge(3));
    advance(220);
    sender.send('a', acknowledge(4));
    expect(sent()).toEqual([['a', 2, 3]]);
    advance(10);
    expect(sent()).toEqual([]);
    advance(250);
    expect(sent()).toEqual([['a', 4]]);
  });

  it('that Redis does not take are dropped: after the next heartbeat they are given again', () => {
    const bus: Bus = { ...new FakeBus(), publish: () => Promise.reject(new Error('away')) };
    const sender = createOrderSender(bus, 'mine', { ...services, afterTurn: (callback) => callback() });
    expect(() => sender.send('a', { kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 })).not.toThrow();
  });
});
