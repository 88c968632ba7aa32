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

describe('orders', () => {
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
    const sender = createOrderSender(bus, 'mine', (callback) => turns.push(callback));
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

  it('that Redis does not take are dropped: after the next heartbeat they are given again', () => {
    const bus: Bus = { ...new FakeBus(), publish: () => Promise.reject(new Error('away')) };
    const sender = createOrderSender(bus, 'mine', (callback) => callback());
    expect(() => sender.send('a', { kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 })).not.toThrow();
  });
});
