import { isJsonObject, SluiceError } from '@sluice/canonical';
import { afterTurn as afterOwnTurn } from '@sluice/runtime';
import type { Bus } from './bus.ts';
import { controlChannel } from './names.ts';
import type { Attempt } from './replies/frame.ts';

/**
 * An order of an ingress to a worker about one attempt.
 * - `cancel`: stop it; nobody wants it.
 * - `resend`: publish its frames again from `sequence` on.
 * - `acknowledge`: all frames below `sequence` have arrived and need not be kept.
 */
export interface Order extends Attempt {
  kind: 'cancel' | 'resend' | 'acknowledge';
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

/**
 * How long acknowledgements wait for others, milliseconds. Each message wakes a worker that is about to claim the next
 * job, only to free some memory.
 */
const gatheringMs = 20;
/** How long they wait at most if nothing follows, milliseconds. */
const gatheringLimitMs = 250;
/** How long a flush waits for Redis, milliseconds. */
const flushLimitMs = 500;

/**
 * Sends orders to workers. All orders of one event-loop turn to one worker go in one message, and acknowledgements with
 * those of the next 20 ms. They are then sent with the next one, which shares a write with what else its turn sends.
 */
export interface OrderSender {
  send(worker: string, order: Order): void;
  /**
   * Sends what has gathered, as before the end of the process: a worker that drains waits for acknowledgements. Resolves
   * when Redis has taken it, or after 500 ms.
   */
  flush(): Promise<void>;
}

/** What a sender of orders runs on. */
export interface OrderSenderServices {
  /** Runs a callback after this turn of the event loop. */
  afterTurn(callback: () => void): void;
  /** Runs a callback after so many milliseconds, if the process still runs then. */
  after(delayMs: number, callback: () => void): void;
  /** Monotonic milliseconds. */
  now(): number;
}

const ownServices: OrderSenderServices = {
  afterTurn: afterOwnTurn,
  after: (delayMs, callback) => void setTimeout(callback, delayMs).unref(),
  now: () => performance.now(),
};

/** `services`: by default those of the process. */
export function createOrderSender(
  bus: Bus,
  ingress: string,
  { afterTurn, after, now }: OrderSenderServices = ownServices,
): OrderSender {
  const outbox = new Map<string, Order[]>();
  let isDue = false;
  /** When the first order of the outbox came. */
  let gatheringSince = 0;
  let isWatched = false;
  const isOld = (): boolean => now() - gatheringSince >= gatheringMs;
  const sendAll = (): Promise<unknown>[] => {
    isDue = false;
    const sent = Array.from(outbox, ([worker, orders]) =>
      // A lost order needs no repair here: at the worker's next heartbeat the ingress gives it again.
      bus.publish(controlChannel(worker), encodeOrders(ingress, orders)).catch(() => undefined),
    );
    outbox.clear();
    return sent;
  };
  const flushSoon = (): void => {
    if (!isDue) afterTurn(sendAll);
    isDue = true;
  };
  /** Sees to what gathers, also if nothing follows. */
  const watch = (): void => {
    if (isWatched) return;
    isWatched = true;
    after(gatheringLimitMs, () => {
      isWatched = false;
      if (outbox.size === 0) return;
      if (isOld()) flushSoon();
      else watch();
    });
  };
  return {
    send: (worker, order) => {
      if (outbox.size === 0) gatheringSince = now();
      if (order.kind !== 'acknowledge' || isOld()) flushSoon();
      else watch();
      const orders = outbox.get(worker);
      if (orders) orders.push(order);
      else outbox.set(worker, [order]);
    },
    flush: async () => {
      const limit = new Promise<void>((resolve) => after(flushLimitMs, resolve));
      await Promise.race([Promise.all(sendAll()), limit]);
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
