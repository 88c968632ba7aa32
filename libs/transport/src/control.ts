import { isJsonObject, SluiceError } from '@sluice/canonical';
import { afterTurn as afterOwnTurn } from '@sluice/runtime';
import type { Bus } from './bus.ts';
import { controlChannel } from './names.ts';

/**
 * An order of an ingress to a worker about one attempt.
 * - `cancel`: stop it; nobody wants it.
 * - `resend`: publish its frames again from `sequence` on.
 * - `acknowledge`: all frames below `sequence` have arrived and need not be kept.
 */
export interface Order {
  kind: 'cancel' | 'resend' | 'acknowledge';
  requestId: string;
  attempt: number;
  /** 0 for a cancel. */
  sequence: number;
}

const codes: Readonly<Record<Order['kind'], string>> = { cancel: 'c', resend: 'r', acknowledge: 'a' };
const kinds: Readonly<Record<string, Order['kind']>> = { c: 'cancel', r: 'resend', a: 'acknowledge' };

/** The text of several orders to one worker. */
export function encodeOrders(ingress: string, orders: readonly Order[]): string {
  const wire = orders.map(({ kind, requestId, attempt, sequence }) => [
    codes[kind],
    requestId,
    attempt,
    sequence,
  ]);
  return JSON.stringify({ v: 1, i: ingress, o: wire });
}

/**
 * Reads the text of `encodeOrders`; throws `internal` for another version. Unknown kinds, of newer ingresses, are
 * skipped.
 */
export function decodeOrders(text: string): { ingress: string; orders: Order[] } {
  const wire: unknown = JSON.parse(text);
  if (!isJsonObject(wire) || wire.v !== 1) throw new SluiceError('internal', 'orders of an unknown version');
  // Written by encodeOrders of the same version.
  const { i, o } = wire as unknown as { i: string; o: [string, string, number, number][] };
  const orders: Order[] = [];
  for (const [code, requestId, attempt, sequence] of o) {
    const kind = kinds[code];
    if (kind) orders.push({ kind, requestId, attempt, sequence });
  }
  return { ingress: i, orders };
}

/** Sends orders to workers. All orders of one event-loop turn to one worker go in one message. */
export interface OrderSender {
  send(worker: string, order: Order): void;
}

/** `afterTurn` runs a callback after this turn of the event loop. Default: that of the process. */
export function createOrderSender(
  bus: Bus,
  ingress: string,
  afterTurn: (callback: () => void) => void = afterOwnTurn,
): OrderSender {
  const outbox = new Map<string, Order[]>();
  const flush = (): void => {
    for (const [worker, orders] of outbox) {
      // A lost order needs no repair here: at the worker's next heartbeat the ingress gives it again.
      bus.publish(controlChannel(worker), encodeOrders(ingress, orders)).catch(() => undefined);
    }
    outbox.clear();
  };
  return {
    send: (worker, order) => {
      if (outbox.size === 0) afterTurn(flush);
      const orders = outbox.get(worker);
      if (orders) orders.push(order);
      else outbox.set(worker, [order]);
    },
  };
}

/** Subscribes to the orders for this worker. Resolves when the subscription stands. */
export async function subscribeOrders(
  bus: Bus,
  worker: string,
  receive: (order: Order, ingress: string) => void,
): Promise<void> {
  await bus.subscribe(controlChannel(worker), (text) => {
    const { ingress, orders } = decodeOrders(text);
    for (const order of orders) receive(order, ingress);
  });
}
