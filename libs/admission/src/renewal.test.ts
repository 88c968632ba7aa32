import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { FakeClock } from '@sluice/runtime';
import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createAdmission } from './admission.ts';
import type { Claim } from './claim.ts';
import { Ledger } from './ledger.ts';
import { bookKeys } from './names.ts';
import { readScript } from './script.ts';
import { partOf, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

const renewal = readScript('renew');
const book = 'sluice:{t:acme}';
const lease = { primitive: 'lease', amount: 1, key: `${book}:lease` } as const;
const budget = { primitive: 'budget', amount: 100, max: 1000, key: `${book}:budget` } as const;

it('a renewal that Redis has to be sent twice does not bring back what was settled meanwhile', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const part = partOf(book, [lease]);
  // Redis has the settle script cached, but not yet the renew script, which therefore has to be sent twice.
  await redis.script('FLUSH');
  for (const requestId of ['before', 'r'])
    await ledger.reserve({ requestId, inputTokens: 40, parts: [part] });
  await ledger.settle({ requestId: 'before', books: [book], charge: 0 });
  const open = new Set(['r']);
  const renewed = ledger.renew(book, () => [...open].map((requestId) => ({ requestId, part })));
  open.clear();
  await Promise.all([renewed, ledger.settle({ requestId: 'r', books: [book], charge: 0 })]);
  expect(await ledger.inspect(book, [lease])).toEqual({ requests: 0, reserved: 0, levels: [0] });
});

it('a renewal brings back the lease of a request that Redis has lost, and leaves to others what they reserved', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const part = partOf(book, [lease, budget]);
  const ids = ['kept', 'lost'];
  await Promise.all(ids.map((requestId) => ledger.reserve({ requestId, inputTokens: 40, parts: [part] })));
  await redis.zrem(`${book}:open`, 'lost');
  await redis.hdel(`${book}:records`, 'lost');
  await ledger.renew(book, () => ids.map((requestId) => ({ requestId, part })));
  const holdings = await ledger.inspect(book, [lease]);
  expect(holdings).toEqual({ requests: 2, reserved: 100, levels: [2] });
});

it('a renewal ends what a dead ingress holds in its book, even if the clock of Redis was set back by hours since', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 50);
  const part = partOf(book, [lease]);
  await ledger.reserve({ requestId: 'dead', inputTokens: 40, parts: [part] });
  await redis.zadd(`${book}:open`, Date.now() + 3_600_000, 'dead');
  await until(async () => {
    await ledger.renew(book, () => [{ requestId: 'alive', part }]);
    return (await redis.zscore(`${book}:open`, 'dead')) === null;
  });
  expect(await redis.hkeys(`${book}:records`)).toEqual(['alive']);
});

it('one renewal brings back the leases of requests that hold different ones, but of none that was given up', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const other = { ...lease, key: `${book}:other` };
  const parts = {
    both: partOf(book, [{ ...lease, amount: 3 }, budget, { ...other, amount: 2 }]),
    same: partOf(book, [{ ...lease, amount: 1 }]),
    more: partOf(book, [{ ...lease, amount: 2 }]),
    none: partOf(book, [budget]),
  };
  const renewals = Object.entries(parts).map(([requestId, part]) => ({ requestId, part }));
  await ledger.renew(book, () => renewals);
  expect(await redis.zrange(lease.key, '0', '-1')).toEqual([
    ...['both#1', 'both#2', 'both#3'],
    ...['more#1', 'more#2', 'same#1'],
  ]);
  expect(await redis.zrange(other.key, '0', '-1')).toEqual(['both#1', 'both#2']);
  expect(await ledger.inspect(book, [lease, other])).toMatchObject({ requests: 4, levels: [6, 2] });
  // If this process died now, a key without an expiry would stay for ever.
  const keys = await redis.keys('*');
  expect((await Promise.all(keys.map((key) => redis.pttl(key)))).filter((life) => life < 0)).toEqual([]);
  await ledger.settle({ requestId: 'same', books: [book], charge: 0, mayBeRenewed: true });
  await redis.del(lease.key, other.key);
  await ledger.renew(book, () => renewals);
  expect(await ledger.inspect(book, [lease, other])).toMatchObject({ requests: 3, levels: [5, 2] });
  for (const requestId of Object.keys(parts)) await ledger.settle({ requestId, books: [book], charge: 0 });
  expect(await ledger.inspect(book, [lease, other])).toEqual({ requests: 0, reserved: 0, levels: [0, 0] });
});

it('a renewal tells of the output of each request, which never becomes less', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const part = partOf(book, [lease]);
  const ids = ['a', 'b', 'lost', 'c'];
  await Promise.all(ids.map((requestId) => ledger.reserve({ requestId, inputTokens: 40, parts: [part] })));
  await redis.hdel(`${book}:records`, 'lost');
  const tell = (seen: (number | undefined)[]) =>
    ledger.renew(book, () => ids.map((requestId, index) => ({ requestId, part, seen: seen[index] })));
  const told = async () => {
    const records = await redis.hmget(`${book}:records`, 'a', 'b', 'c');
    return records.map((record) => record?.split(' ').slice(0, 2).join(' '));
  };
  await tell([7, 8, 9, 10]);
  expect(await told()).toEqual(['40 7', '40 8', '40 10']);
  await tell([6, undefined, undefined, 11]);
  expect(await told()).toEqual(['40 7', '40 8', '40 11']);
});

it.each([
  ['a renewal', (ledger: Ledger) => ledger.renew(book, () => [])],
  ['a look at the book', (ledger: Ledger) => ledger.inspect(book)],
])('%s by an ingress with short leases leaves another one its longer ones', async (_what, visit) => {
  const redis = await bed.connect();
  const [long, short] = [new Ledger(redis, 60_000), new Ledger(redis, 1_000)];
  await long.reserve({ requestId: 'r', inputTokens: 40, parts: [partOf(book, [lease])] });
  const ends = () => redis.zscore(`${book}:open`, 'r');
  const before = await ends();
  await visit(short);
  expect(await ends()).toBe(before);
});

/** A way to Redis that counts how often something is sent after an answer: what each round trip costs far away. */
async function openCountedWay(redisPort: number) {
  const way = { port: 0, roundTrips: 0, close: () => void server.close() };
  const server = createServer((client) => {
    const redis = connect(redisPort, '127.0.0.1');
    let isAnswered = true;
    client.on('data', (data) => {
      if (isAnswered) way.roundTrips += 1;
      isAnswered = false;
      redis.write(data);
    });
    redis.on('data', (data) => {
      isAnswered = true;
      client.write(data);
    });
    client.on('close', () => redis.destroy());
    redis.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on a TCP port has an address object.
  way.port = (server.address() as AddressInfo).port;
  return way;
}

it('the leases of many tenants are renewed with far fewer round trips than there are tenants', async () => {
  const way = await openCountedWay(bed.server.port);
  const clock = new FakeClock();
  const redis = new Redis(way.port);
  const admission = createAdmission({ redis, clock, renewEveryMs: 50 });
  await admission.start();
  const limits = { tenant: { concurrency: { max: 1 } }, key: {} };
  const tenants = Array.from({ length: 200 }, (_, index) => `tenant-${index}`);
  for (const tenant of tenants) await admission.admit(bed.claim({ tenant, limits }));
  const direct = await bed.connect();
  const life = `local ends = {}
    for index, key in ipairs(KEYS) do ends[index] = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] end
    return ends`;
  const keys = tenants.map((tenant) => `sluice:{t:${tenant}}:open`);
  const ends = async (): Promise<number[]> => {
    const scores = await direct.eval(life, keys.length, ...keys);
    return (scores as string[]).map(Number);
  };
  const before = Math.max(...(await ends()));
  way.roundTrips = 0;
  await until(async () => {
    if (way.roundTrips === 0) await clock.advance(50);
    return (await ends()).every((end) => end > before);
  });
  expect(way.roundTrips).toBeLessThan(100);
  await admission.close();
  redis.disconnect();
  way.close();
});

/** A way to Redis that holds a renewal back, as TCP does with what it has lost, and closes under it. */
async function openLosingWay(redisPort: number) {
  const arrives = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  let isLosing = true;
  const server = createServer((client) => {
    const redis = connect(redisPort, '127.0.0.1');
    client.on('data', (data) => {
      if (!isLosing || !data.includes(renewal.sha)) {
        redis.write(data);
        return;
      }
      isLosing = false;
      client.destroy();
      lost.resolve();
      void arrives.promise.then(() => {
        redis.removeAllListeners('data');
        redis.once('data', () => arrived.resolve());
        redis.write(data);
      });
    });
    redis.on('data', (data) => client.write(data));
    client.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A server that listens on a TCP port has an address object.
    port: (server.address() as AddressInfo).port,
    lost: lost.promise,
    /** Lets the renewal arrive, and resolves once Redis has answered it. */
    arrive: () => {
      arrives.resolve();
      return arrived.promise;
    },
    close: () => void server.close(),
  };
}

/** A ticket of which a renewal is on its way, from a connection that was given up. */
async function openLate(claim: Partial<Claim>) {
  const direct = await bed.connect();
  const way = await openLosingWay(bed.server.port);
  const clock = new FakeClock();
  const redis = new Redis(way.port, { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false });
  redis.on('error', () => undefined);
  const admission = createAdmission({ redis, clock, renewEveryMs: 50 });
  await admission.start();
  // Redis must know the script, so that the way knows a renewal by its digest.
  await direct.script('LOAD', renewal.source);
  const ticket = await admission.admit(bed.claim(claim));
  ticket.sawOutput(7);
  const reconnected = once(redis, 'close').then(() => once(redis, 'ready'));
  await clock.advance(50);
  await way.lost;
  await reconnected;
  const close = async () => {
    await admission.close();
    redis.disconnect();
    way.close();
  };
  return { admission, ticket, arrive: way.arrive, ledger: new Ledger(direct, 15_000), close };
}

it('a renewal that comes late from a connection that was given up does not bring back what was settled since', async () => {
  const limits = { tenant: { concurrency: { max: 1 } }, key: {} };
  const { admission, ticket, arrive, close } = await openLate({ limits });
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 7 } });
  await arrive();
  const next = await admission.admit(bed.claim({ limits }));
  expect((await admission.usage(bed.claim({ limits })))[0]?.used).toBe(1);
  await next.settle({});
  await close();
});

it('nor the places of a request whose workers are done while its client still reads', async () => {
  const { ticket, arrive, ledger, close } = await openLate({});
  const held = async () => (await ledger.inspect('sluice:{p:gpu}')).requests;
  ticket.freePlaces(5);
  await until(async () => (await held()) === 0);
  await arrive();
  expect(await held()).toBe(0);
  await ticket.settle({});
  await close();
});

it('a request that is settled while others are renewed before it does not come back', async () => {
  const clock = new FakeClock();
  const admission = await bed.admission({ clock, renewEveryMs: 50 });
  await admission.start();
  // More than one run of the script renews.
  const tickets = await Promise.all(Array.from({ length: 300 }, () => admission.admit(bed.claim())));
  const [before, last] = tickets.slice(-2);
  const [open] = bookKeys('sluice:{p:gpu}');
  const score = () => admission.redis.zscore(open, before?.requestId ?? '');
  const then = await score();
  await clock.advance(50);
  await last?.settle({});
  await until(async () => {
    const isRenewed = (await score()) !== then;
    if (!isRenewed) await clock.advance(50);
    return isRenewed;
  });
  const ledger = new Ledger(admission.redis, 15_000);
  expect((await ledger.inspect('sluice:{p:gpu}')).requests).toBe(299);
});

it('a request whose renewals were all answered leaves nothing when it is settled', async () => {
  const clock = new FakeClock();
  const admission = await bed.admission({ clock, renewEveryMs: 50 });
  const { redis } = admission;
  await admission.start();
  const ticket = await admission.admit(bed.claim());
  const [open, records] = bookKeys('sluice:{p:gpu}');
  const before = await redis.zscore(open, ticket.requestId);
  await until(async () => {
    await clock.advance(50);
    return (await redis.zscore(open, ticket.requestId)) !== before;
  });
  // A round that began with the last look has been answered by the first reply, and has noted that by the second.
  await redis.ping();
  await redis.ping();
  await ticket.settle({});
  expect(await redis.exists(open, records)).toBe(0);
});
