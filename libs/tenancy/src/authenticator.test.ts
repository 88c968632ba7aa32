import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Authenticator } from './authenticator.ts';
import { names } from './names.ts';
import type { Key, Tenant } from './record.ts';

const { changes } = names;
const credential = `sk-${'x'.repeat(43)}`;
const key: Key = { id: 'k1', tenant: 'acme', prefix: 'sk-xxxx', limits: {}, createdAt: 0 };
const tenant: Tenant = { id: 'acme', limits: {}, createdAt: 0 };

/** A connection that is up, and whose events the test emits. */
class FakeSubscriber extends EventEmitter {
  readonly status = 'ready';
  subscriptions = 0;
  isRefused = false;
  subscribe = async () => {
    this.subscriptions += 1;
    if (this.isRefused) throw new Error('NOPERM');
    return 1;
  };
  unsubscribe = async () => 1;
}

let subscriber: FakeSubscriber;
let authenticator: Authenticator;
/** Look-ups so far, by the hash that was asked for. */
let asked: string[];
/** Holds a look-up back; absent answers at once. */
let held: Promise<void> | undefined;
let tenants: Map<string, Tenant>;

beforeEach(async () => {
  subscriber = new FakeSubscriber();
  asked = [];
  held = undefined;
  tenants = new Map([['acme', tenant]]);
  const directory = {
    findKey: async (hash: string) => {
      asked.push(hash);
      await held;
      return key;
    },
    findTenant: async (id: string) => tenants.get(id),
  };
  authenticator = new Authenticator(directory, {
    secret: 'a secret of the tests',
    now: () => 0,
    monotonic: () => 0,
    // Only these members are used by the authenticator.
    subscriber: subscriber as unknown as Redis,
    cacheSize: 10,
    cacheMs: 1_000,
    unknownCacheMs: 1_000,
    lookupTimeoutMs: 60_000,
  });
  await authenticator.start();
});

afterEach(() => vi.useRealTimers());

/** Makes something happen during a look-up, and lets that end. */
async function during(happening: () => Promise<void> | void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  const found = authenticator.authenticate([credential]);
  await happening();
  resolve();
  held = undefined;
  await found;
}

async function reconnect(): Promise<void> {
  subscriber.emit('close');
  subscriber.emit('ready');
  await setImmediate();
}

const asks = async (): Promise<boolean> => {
  const before = asked.length;
  await authenticator.authenticate([credential]);
  return asked.length > before;
};

describe('what was found', () => {
  it('is kept while nothing changes', async () => {
    expect(await asks()).toBe(true);
    expect(await asks()).toBe(false);
    subscriber.emit('message', 'of somebody else', `key ${asked[0]}`);
    expect(await asks()).toBe(false);
  });

  it('is not kept when it changed while it was read', async () => {
    await during(() => void subscriber.emit('message', changes, `key ${asked[0]}`));
    expect(await asks()).toBe(true);
    expect(await asks()).toBe(false);
  });

  it('is not kept when changes of that time were not heard', async () => {
    await during(reconnect);
    expect(await asks()).toBe(true);
    expect(await asks()).toBe(false);
  });

  it('is asked for again after changes that were not heard', async () => {
    await asks();
    await reconnect();
    expect(await asks()).toBe(true);
  });

  it('goes with the tenant that changed, and with no other', async () => {
    await asks();
    subscriber.emit('message', changes, 'tenant other');
    expect(await asks()).toBe(false);
    subscriber.emit('message', changes, 'tenant acme');
    expect(await asks()).toBe(true);
  });

  it('is forgotten when a tenant appears for whose lack a key was refused', async () => {
    tenants.clear();
    await expect(authenticator.authenticate([credential])).rejects.toMatchObject({ kind: 'unauthenticated' });
    tenants.set('acme', tenant);
    await expect(authenticator.authenticate([credential])).rejects.toMatchObject({ kind: 'unauthenticated' });
    subscriber.emit('message', changes, 'tenant acme');
    expect(await authenticator.authenticate([credential])).toMatchObject({ tenant: 'acme' });
  });
});

describe('a look-up that takes longer than a request may wait', () => {
  let arrive: () => void;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    ({ promise: held, resolve: arrive } = Promise.withResolvers<void>());
  });

  it('serves who has come to it since, and whoever comes after it', async () => {
    const first = expect(authenticator.authenticate([credential])).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the key store is slow',
    });
    await vi.advanceTimersByTimeAsync(59_000);
    const second = authenticator.authenticate([credential]);
    await vi.advanceTimersByTimeAsync(2_000);
    await first;
    arrive();
    expect(await second).toMatchObject({ tenant: 'acme' });
    held = undefined;
    expect(await asks()).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it('is not waited for by whoever comes after that: its answer may be lost', async () => {
    const first = expect(authenticator.authenticate([credential])).rejects.toMatchObject({
      kind: 'unavailable',
    });
    await vi.advanceTimersByTimeAsync(61_000);
    await first;
    held = undefined;
    expect(await authenticator.authenticate([credential])).toMatchObject({ tenant: 'acme' });
    expect(asked).toHaveLength(2);
  });
});

describe('a subscription that is refused', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    subscriber.isRefused = true;
  });

  it('is tried again every second until it succeeds', async () => {
    subscriber.emit('close');
    subscriber.emit('ready');
    expect(subscriber.subscriptions).toBe(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(subscriber.subscriptions).toBe(3);
    subscriber.isRefused = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(subscriber.subscriptions).toBe(4);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(subscriber.subscriptions).toBe(4);
  });

  it('is not tried again on a shared connection after the end', async () => {
    await reconnect();
    await authenticator.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(subscriber.subscriptions).toBe(2);
  });
});
