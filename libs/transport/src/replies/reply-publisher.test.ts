import type { GenerationEvent } from '@sluice/canonical';
import { describe, expect, it, vi } from 'vitest';
import { FakeBus } from '../fake-bus.ts';
import { decodeBatch, type ReplyBatch } from './frame.ts';
import { createReplyPublisher, type ReplyPublisher } from './reply-publisher.ts';

const text = (value: string): GenerationEvent => ({ type: 'text-delta', block: 0, text: value, tokens: 1 });
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const r1 = { requestId: 'r1', attempt: 1 };
const r2 = { requestId: 'r2', attempt: 1 };

/** A publisher whose turns and time the test controls, with a record of all that ingress `mine` was told. */
async function createBench({ keptLimit = Number.POSITIVE_INFINITY } = {}) {
  const bus = new FakeBus();
  const turnEnds: (() => void)[] = [];
  const batches: ReplyBatch[] = [];
  let now = 0;
  let beat: () => void = () => undefined;
  let isAlive: boolean | undefined = true;
  const abandoned: number[] = [];
  const dropped: number[] = [];
  const published = { frames: 0, bytes: 0 };
  let asked = 0;
  await bus.subscribe('sluice:reply:mine', (batch) => batches.push(decodeBatch(batch)));
  const publisher = createReplyPublisher({
    bus,
    worker: 'w',
    now: () => now,
    isIngressAlive: async (ingress) => {
      asked += 1;
      if (isAlive === undefined) throw new Error('redis is away');
      return isAlive || ingress !== 'mine';
    },
    keptLimit,
    onKeptDropped: (count) => dropped.push(count),
    onAbandoned: (count) => abandoned.push(count),
    onPublished: ({ frames, bytes }) => {
      published.frames += frames;
      published.bytes += bytes;
    },
    afterTurn: (callback) => turnEnds.push(callback),
    every: (_intervalMs, callback) => {
      beat = callback;
      return () => {
        beat = () => undefined;
      };
    },
  });
  publisher.start();
  const endTurn = async (): Promise<void> => {
    for (const callback of turnEnds.splice(0)) callback();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    bus,
    publisher,
    batches,
    abandoned,
    published,
    dropped,
    /** How often it was asked whether the ingress lives. */
    asked: () => asked,
    endTurn,
    /** Whether anything is to be published after this turn. */
    isPending: () => turnEnds.length > 0,
    /** What was told since the last call. */
    told: () => batches.splice(0),
    advance: async (durationMs: number) => {
      for (const end = now + durationMs; now < end; ) {
        now += 500;
        beat();
        await endTurn();
      }
    },
    killIngress: () => {
      isAlive = false;
    },
    reviveIngress: () => {
      isAlive = true;
    },
    hideIngress: () => {
      isAlive = undefined;
    },
    open: (attempt = r1) => {
      const writer = publisher.open({ ...attempt, replyTo: 'mine' });
      if (!writer) throw new TypeError('it is open already');
      return writer;
    },
  };
}

describe('an attempt', () => {
  it('is announced before any event, and counts as announced even without Redis', async () => {
    for (const isUp of [true, false]) {
      const { bus, open, endTurn, told, publisher } = await createBench();
      bus.isConnected = isUp;
      let isAnnounced = false;
      void open().announced.then(() => {
        isAnnounced = true;
      });
      await Promise.resolve();
      expect(isAnnounced).toBe(false);
      await endTurn();
      expect(isAnnounced).toBe(true);
      expect(told().map(({ claims }) => claims)).toEqual(isUp ? [[r1]] : []);
      await publisher.close();
    }
  });

  it('whose claim has announced itself is not announced again, and need not wait for that', async () => {
    const { publisher, endTurn, isPending, told } = await createBench();
    const writer = publisher.open({ ...r1, replyTo: 'mine' }, true);
    await writer?.announced;
    expect(isPending()).toBe(false);
    writer?.write(text('a'));
    await endTurn();
    expect(told()).toMatchObject([{ claims: [], frames: [{ ...r1, sequence: 0 }] }]);
  });

  it('is announced with its first events, in one message', async () => {
    const { open, endTurn, told } = await createBench();
    const writer = open();
    writer.write(text('a'));
    writer.write(text('b'));
    await endTurn();
    const frames = [{ ...r1, sequence: 0, events: [{ ...text('ab'), tokens: 2 }] }];
    expect(told()).toEqual([{ worker: 'w', claims: [r1], frames, running: [], gone: [] }]);
  });

  it('shares the message of a turn with all others of its ingress', async () => {
    const { open, endTurn, told } = await createBench();
    const [first, second] = [open(r1), open(r2)];
    first.write(text('a'));
    second.write(text('b'));
    first.write(text('c'));
    await endTurn();
    const [batch, ...more] = told();
    expect(more).toEqual([]);
    expect(batch?.claims).toEqual([r1, r2]);
    expect(batch?.frames.map(({ requestId, events }) => [requestId, events.length])).toEqual([
      ['r1', 1],
      ['r2', 1],
    ]);
  });

  it('is opened once: given out twice, it does not run twice here', async () => {
    const { publisher, open, endTurn } = await createBench();
    const writer = open();
    expect(publisher.open({ ...r1, replyTo: 'mine' })).toBeUndefined();
    expect(publisher.open({ ...r1, attempt: 2, replyTo: 'mine' })).toBeDefined();
    writer.write(finish);
    await endTurn();
    expect(publisher.open({ ...r1, replyTo: 'mine' })).toBeUndefined();
    publisher.acknowledge(r1, 1);
    expect(publisher.open({ ...r1, replyTo: 'mine' })).toBeDefined();
  });

  it('shares no message with another if both are so large that Redis would cut off its subscriber', async () => {
    const { open, endTurn, told } = await createBench();
    for (const attempt of [r1, r2]) open(attempt).write(text('x'.repeat(300_000)));
    await endTurn();
    expect(told().map(({ frames }) => frames.length)).toEqual([1, 1]);
  });

  it('that fills more than one message is split, and nothing is lost or doubled', async () => {
    const { open, endTurn, told } = await createBench();
    for (let index = 0; index < 8; index += 1)
      open({ requestId: `big${index}`, attempt: 1 }).write(text('x'.repeat(100_000)));
    await endTurn();
    const batches = told();
    expect(batches.map(({ frames }) => frames.length)).toEqual([2, 2, 2, 2]);
    expect(batches.flatMap(({ claims }) => claims)).toHaveLength(8);
    for (const { frames } of batches) expect(JSON.stringify(frames).length).toBeLessThan(256 * 1024);
    expect(batches.flatMap(({ frames }) => frames).map(({ requestId }) => requestId)).toEqual(
      Array.from({ length: 8 }, (_, index) => `big${index}`),
    );
  });
});

it('a flush has come to its end when Redis has what was pending', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { bus, publisher, open } = await createBench();
  const published = Promise.withResolvers<number>();
  vi.spyOn(bus, 'publish').mockReturnValue(published.promise);
  open().write(text('last'));
  let isFlushed = false;
  const flushed = publisher.flush().then(() => {
    isFlushed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isFlushed).toBe(false);
  published.resolve(1);
  await flushed;
  vi.useRealTimers();
});

it('a flush ends half a second later if Redis takes what was pending and never answers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { bus, publisher, open } = await createBench();
  vi.spyOn(bus, 'publish').mockReturnValue(new Promise(() => undefined));
  open().write(text('last'));
  const flushed = publisher.flush();
  vi.advanceTimersByTime(500);
  await flushed;
  vi.useRealTimers();
});

it('what is published is told in bytes, and only if it goes out', async () => {
  const { bus, open, endTurn, advance, published, publisher } = await createBench();
  const writer = open();
  writer.write(text('字'.repeat(1_000)));
  await endTurn();
  await advance(500);
  const bytes = bus.published.reduce((sum, message) => sum + Buffer.byteLength(message.text), 0);
  expect(bytes).toBeGreaterThan(3_000);
  expect(published).toEqual({ frames: 1, bytes });
  vi.spyOn(bus, 'post').mockReturnValue(0);
  writer.write(text('a'));
  await endTurn();
  expect(published).toEqual({ frames: 1, bytes });
  await publisher.close();
});

describe('a heartbeat', () => {
  it('tells the attempts that have moved, and each one every five seconds', async () => {
    const { open, endTurn, told, advance } = await createBench();
    const writer = open();
    await endTurn();
    told();
    await advance(500);
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 0 }]]);
    await advance(1_000);
    expect(told()).toEqual([]);
    writer.write(text('a'));
    await endTurn();
    told();
    await advance(500);
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 1 }]]);
    for (let round = 0; round < 2; round += 1) {
      const listed: number[] = [];
      for (let beat = 0; beat < 10; beat += 1) {
        await advance(500);
        if (told().some(({ running }) => running.length > 0)) listed.push(beat);
      }
      expect(listed).toEqual([6]);
    }
  });

  it('of ten tells each attempt once, and not all of them at once', async () => {
    const { open, told, advance } = await createBench();
    open(r1);
    await advance(1_000);
    open(r2);
    await advance(2_000);
    told();
    const heard: string[][] = [];
    for (let beat = 0; beat < 10; beat += 1) {
      await advance(500);
      heard.push(told().flatMap(({ running }) => running.map(({ requestId }) => requestId)));
    }
    expect(heard.flat().toSorted()).toEqual([r1.requestId, r2.requestId]);
    expect(heard.map((ids) => ids.length)).not.toContain(2);
  });

  it('does not list what was forgotten with something still to publish', async () => {
    const { publisher, open, endTurn, told, advance } = await createBench();
    const writer = open();
    await advance(500);
    writer.write(text('a'));
    publisher.forget(r1);
    await endTurn();
    told();
    await advance(10_000);
    expect(told()).toEqual([]);
  });

  it('names all attempts of an ingress in one message', async () => {
    const { open, endTurn, told, advance } = await createBench();
    for (const attempt of [r1, r2]) open(attempt);
    await endTurn();
    told();
    await advance(500);
    const running = [r1, r2].map((attempt) => ({ ...attempt, next: 0 }));
    expect(told()).toEqual([{ worker: 'w', claims: [], frames: [], running, gone: [] }]);
  });

  it('is given at once to an ingress that says hello', async () => {
    const { publisher, open, endTurn, told } = await createBench();
    open();
    publisher.open({ ...r2, replyTo: 'other' });
    await endTurn();
    told();
    publisher.tell('mine');
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 0 }]]);
    publisher.tell();
    expect(told()).toHaveLength(1);
  });

  it('stops when the publisher closes, and what was pending is out', async () => {
    const { publisher, open, told, advance } = await createBench();
    open().write(text('last'));
    await publisher.close();
    expect(told()[0]?.frames).toHaveLength(1);
    await advance(10_000);
    expect(told()).toEqual([]);
  });
});

describe('frames that are asked for again', () => {
  it('come from that sequence on, with how far the attempt is', async () => {
    const { publisher, open, endTurn, told } = await createBench();
    const writer = open();
    for (const value of ['a', 'b', 'c']) {
      writer.write(text(value));
      await endTurn();
    }
    told();
    publisher.resend(r1, 1, 'mine');
    await endTurn();
    const [batch] = told();
    expect(batch?.frames.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(batch?.running).toEqual([{ ...r1, next: 3 }]);
  });

  it('that do not exist still bring the position of the attempt, and whether it is unknown', async () => {
    const { publisher, open, endTurn, told } = await createBench();
    open();
    await endTurn();
    told();
    const position = { worker: 'w', claims: [], frames: [], running: [{ ...r1, next: 0 }] };
    publisher.resend(r1, 0, 'mine');
    await endTurn();
    expect(told()).toEqual([{ ...position, gone: [] }]);
    publisher.resend(r1, 0, 'mine');
    publisher.resend(r2, 0, 'mine');
    await endTurn();
    expect(told()).toEqual([{ ...position, gone: [{ ...r2, from: 0 }] }]);
  });

  it('are not sent while Redis is behind, since they may be on their way: their ingress asks again', async () => {
    const { bus, publisher, open, endTurn, told, advance } = await createBench();
    open().write(text('large'));
    await endTurn();
    const { publish } = bus;
    const answer = Promise.withResolvers<number>();
    vi.spyOn(bus, 'publish').mockReturnValueOnce(answer.promise).mockImplementation(publish);
    await advance(2_000);
    told();
    publisher.resend(r1, 0, 'mine');
    await endTurn();
    expect(told()).toEqual([]);
    await advance(500);
    const position = { worker: 'w', claims: [], frames: [], running: [{ ...r1, next: 1 }], gone: [] };
    expect(told()).toEqual([position]);
    answer.resolve(1);
    await endTurn();
    publisher.resend(r1, 0, 'mine');
    await endTurn();
    expect(told()[0]?.frames.map(({ sequence }) => sequence)).toEqual([0]);
  });

  it('are reported as gone if they are unknown, acknowledged or too many', async () => {
    const { publisher, open, endTurn, told } = await createBench();
    const writer = open();
    for (const value of ['a', 'b']) {
      writer.write(text(value));
      await endTurn();
    }
    told();
    publisher.acknowledge(r1, 1);
    publisher.resend(r1, 0, 'mine');
    publisher.resend(r2, 4, 'mine');
    await endTurn();
    expect(told()[0]).toMatchObject({
      frames: [],
      running: [],
      gone: [
        { ...r1, from: 0 },
        { ...r2, from: 4 },
      ],
    });
  });

  it('come in pieces: an ingress that was away gets what it can take, and asks for the rest', async () => {
    const { publisher, open, endTurn, told } = await createBench();
    const attempts = Array.from({ length: 24 }, (_, index) => ({ requestId: `big${index}`, attempt: 1 }));
    for (const attempt of attempts) {
      const writer = open(attempt);
      for (let frame = 0; frame < 6; frame += 1) {
        writer.write(text('x'.repeat(100_000)));
        await endTurn();
      }
    }
    told();
    const expected = new Map(attempts.map(({ requestId }) => [requestId, 0]));
    let rounds = 0;
    for (let isBehind = true; isBehind; rounds += 1) {
      for (const attempt of attempts) publisher.resend(attempt, expected.get(attempt.requestId) ?? 0, 'mine');
      await endTurn();
      const batches = told();
      let bytes = 0;
      const before = new Map(expected);
      for (const { requestId, sequence, events } of batches.flatMap(({ frames }) => frames)) {
        expect(sequence).toBe(expected.get(requestId));
        expected.set(requestId, sequence + 1);
        bytes += JSON.stringify(events).length;
        // No attempt takes up the room of the others.
        expect(sequence - (before.get(requestId) ?? 0)).toBeLessThan(2);
      }
      expect(bytes).toBeLessThan(3 * 1024 * 1024);
      const running = batches.flatMap((batch) => batch.running);
      expect(running).toHaveLength(24);
      isBehind = running.some(({ requestId, next }) => next > (expected.get(requestId) ?? 0));
      if (rounds > 20) throw new Error('it does not come to an end');
    }
    expect(rounds).toBeGreaterThan(1);
    expect([...expected.values()]).toEqual(Array(24).fill(6));
  });
});

describe('what is kept', () => {
  it('is dropped when the end is acknowledged', async () => {
    const { publisher, open, endTurn } = await createBench();
    const writer = open();
    writer.write(text('a'));
    writer.write(finish);
    await endTurn();
    expect(publisher.keptCharacters).toBeGreaterThan(0);
    publisher.acknowledge(r1, 1);
    expect(publisher.keptCharacters).toBe(0);
    // The ingress may say so again, for example because it has heard the end twice.
    publisher.acknowledge(r1, 1);
    expect(publisher.has(r1)).toBe(false);
  });

  it('is dropped a minute after the end if nobody answers; a resend order starts the minute anew', async () => {
    const { publisher, open, endTurn, advance } = await createBench();
    open().write(finish);
    await endTurn();
    await advance(50_000);
    publisher.resend(r1, 0, 'mine');
    await endTurn();
    await advance(50_000);
    expect(publisher.keptCharacters).toBeGreaterThan(0);
    await advance(15_000);
    expect(publisher.keptCharacters).toBe(0);
  });

  it('stays for as long as its ingress acknowledges something now and then', async () => {
    const { publisher, open, endTurn, advance } = await createBench();
    const writer = open();
    writer.write(text('a'));
    await endTurn();
    writer.write(finish);
    await endTurn();
    for (let minute = 0; minute < 5; minute += 1) {
      await advance(50_000);
      publisher.acknowledge(r1, 1);
    }
    expect(publisher.keptCharacters).toBeGreaterThan(0);
    publisher.acknowledge(r1, 2);
    expect(publisher.keptCharacters).toBe(0);
  });

  it('stays for as long as the attempt runs, even if all that it has said so far was acknowledged', async () => {
    const { publisher, open, endTurn, advance } = await createBench();
    const writer = open();
    writer.write(text('a'));
    await endTurn();
    publisher.acknowledge(r1, 1);
    writer.write(text('b'));
    await endTurn();
    publisher.acknowledge(r1, 0);
    publisher.resend(r1, 1, 'mine');
    await endTurn();
    await advance(70_000);
    expect(publisher.keptCharacters).toBeGreaterThan(0);
  });

  it('is dropped when nobody wants it', async () => {
    const { publisher, open, endTurn } = await createBench();
    open().write(text('a'));
    await endTurn();
    publisher.forget(r1);
    expect(publisher.keptCharacters).toBe(0);
    // Its ingress may say so again.
    publisher.forget(r1);
  });
});

describe('all is delivered', () => {
  /** Waits for that, and tells whether it has come. */
  function watch(publisher: ReplyPublisher, limit = new AbortController().signal): () => Promise<boolean> {
    let isDelivered = false;
    void publisher.delivered(limit).then(() => {
      isDelivered = true;
    });
    return async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return isDelivered;
    };
  }

  it('at once where nothing is kept', async () => {
    const { publisher } = await createBench();
    expect(await watch(publisher)()).toBe(true);
  });

  it('when every ingress has acknowledged the ends of its attempts, or does not want them', async () => {
    const { publisher, open, endTurn } = await createBench();
    const third = { requestId: 'r3', attempt: 1 };
    for (const attempt of [r1, r2, third]) open(attempt).write(finish);
    await endTurn();
    const isDelivered = watch(publisher);
    publisher.acknowledge(r1, 1);
    publisher.forget(r2);
    expect(await isDelivered()).toBe(false);
    publisher.acknowledge(third, 1);
    expect(await isDelivered()).toBe(true);
  });

  it('when an ingress that has not acknowledged its attempts is given up', async () => {
    const { publisher, bus, open, endTurn, advance, killIngress } = await createBench();
    open().write(finish);
    await endTurn();
    const isDelivered = watch(publisher);
    await advance(2_000);
    expect(await isDelivered()).toBe(false);
    bus.receivers = 0;
    killIngress();
    await advance(10_000);
    expect(await isDelivered()).toBe(true);
  });

  it('when the ingress that has not acknowledged its attempts says farewell', async () => {
    const { publisher, open, endTurn, abandoned } = await createBench();
    const running = open();
    const onAbandoned = vi.fn();
    running.whenClosed(onAbandoned);
    open(r2).write(finish);
    publisher.open({ requestId: 'r3', attempt: 1, replyTo: 'other' })?.write(finish);
    await endTurn();
    const isDelivered = watch(publisher);
    publisher.abandon('mine');
    publisher.abandon('unknown');
    expect(onAbandoned).toHaveBeenCalledOnce();
    expect(abandoned).toEqual([2]);
    expect(await isDelivered()).toBe(false);
    publisher.abandon('other');
    expect(await isDelivered()).toBe(true);
  });

  it('or is not waited for any longer, when the limit aborts', async () => {
    const { publisher, open, endTurn } = await createBench();
    open().write(finish);
    await endTurn();
    const limit = new AbortController();
    const isDelivered = watch(publisher, limit.signal);
    expect(await isDelivered()).toBe(false);
    limit.abort();
    expect(await isDelivered()).toBe(true);
    expect(await watch(publisher, limit.signal)()).toBe(true);
  });
});

describe('what is kept for all attempts together', () => {
  const attempts = ['r1', 'r2', 'r3', 'r4'].map((requestId) => ({ requestId, attempt: 1 }));

  /** Four attempts, of which the second and the third have ended, each with a frame of some 1,000 characters. */
  async function createKept(keptLimit: number) {
    const bench = await createBench({ keptLimit });
    for (const [index, attempt] of attempts.entries()) {
      const writer = bench.open(attempt);
      writer.write(text('x'.repeat(1_000)));
      if (index === 1 || index === 2) writer.write(finish);
    }
    await bench.endTurn();
    bench.told();
    const kept = async () => {
      for (const attempt of attempts) bench.publisher.resend(attempt, 0, 'mine');
      await bench.endTurn();
      return bench.told().flatMap(({ frames }) => frames.map(({ requestId }) => requestId));
    };
    return { ...bench, kept };
  }

  it.each([
    [5_000, ['r1', 'r2', 'r3', 'r4'], []],
    [3_500, ['r1', 'r3', 'r4'], [1]],
    [2_500, ['r1', 'r4'], [2]],
    [1_500, ['r4'], [3]],
    [500, [], [4]],
  ])(
    'is limited, with those that began first going first, and the ended before those that run: %i',
    async (keptLimit, left, counts) => {
      const { advance, kept, dropped, publisher } = await createKept(keptLimit);
      await advance(500);
      expect(dropped).toEqual(counts);
      expect(publisher.keptCharacters).toBeLessThanOrEqual(keptLimit);
      expect(await kept()).toEqual(left);
      await advance(5_000);
      expect(dropped).toEqual(counts);
    },
  );

  it('is gone for who asks for it, and no news to who has it', async () => {
    const { advance, publisher, endTurn, told } = await createKept(3_500);
    await advance(500);
    told();
    publisher.resend({ requestId: 'r2', attempt: 1 }, 0, 'mine');
    await endTurn();
    expect(told()).toMatchObject([{ running: [], gone: [{ requestId: 'r2', from: 0 }] }]);
    publisher.resend({ requestId: 'r2', attempt: 1 }, 1, 'mine');
    await endTurn();
    expect(told()).toMatchObject([{ frames: [], running: [{ requestId: 'r2', next: 1 }], gone: [] }]);
    publisher.acknowledge({ requestId: 'r2', attempt: 1 }, 1);
    expect(publisher.has({ requestId: 'r2', attempt: 1 })).toBe(false);
  });
});

describe('while Redis is away', () => {
  it('nothing is queued up, and the next heartbeat makes the ingress ask', async () => {
    const { bus, publisher, open, endTurn, told, advance } = await createBench();
    const writer = open();
    bus.isConnected = false;
    writer.write(text('a'));
    await endTurn();
    expect(bus.published).toEqual([]);
    bus.isConnected = true;
    await advance(500);
    expect(told()[0]?.running).toEqual([{ ...r1, next: 1 }]);
    publisher.resend(r1, 0, 'mine');
    await endTurn();
    expect(told()[0]?.frames).toHaveLength(1);
  });

  it('heartbeats go on without a message, round after round', async () => {
    const { bus, open, endTurn, told, advance } = await createBench();
    open();
    await endTurn();
    told();
    bus.published.length = 0;
    bus.isConnected = false;
    await advance(11_000);
    expect(bus.published).toEqual([]);
    bus.isConnected = true;
    await advance(500);
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 0 }]]);
  });

  it.each([
    ['a heartbeat', 4_500, () => undefined],
    ['the answer to a hello', 0, (publisher: ReplyPublisher) => publisher.tell('mine')],
  ])(
    'what %s would have told then is told by the first afterwards, even if nothing has moved',
    async (_what, laterMs, tell) => {
      const { bus, publisher, open, told, advance } = await createBench();
      open();
      // The turn of an attempt that does not move comes once in ten heartbeats.
      await advance(500 + laterMs);
      told();
      bus.isConnected = false;
      tell(publisher);
      await advance(500);
      bus.isConnected = true;
      await advance(500);
      expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 0 }]]);
      await advance(500);
      expect(told()).toEqual([]);
    },
  );

  it('what could not be told then is told by the first heartbeat afterwards', async () => {
    const { bus, open, endTurn, told, advance, publisher } = await createBench();
    const writer = open();
    await advance(500);
    told();
    bus.isConnected = false;
    writer.write(finish);
    await endTurn();
    publisher.tell();
    await advance(500);
    bus.isConnected = true;
    await advance(500);
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 1 }]]);
  });
});

describe('what broke off on its way', () => {
  it('is told again by the next heartbeat, although the attempt says nothing more', async () => {
    const { bus, open, endTurn, told, advance } = await createBench();
    const writer = open();
    await advance(500);
    bus.isBreaking = true;
    writer.write(finish);
    await endTurn();
    await advance(500);
    bus.isBreaking = false;
    told();
    await advance(500);
    expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 1 }]]);
  });
});

describe('what nobody heard', () => {
  it('is told by every heartbeat until the ingress hears it', async () => {
    const { bus, open, endTurn, told, advance } = await createBench();
    const writer = open();
    writer.write(finish);
    await endTurn();
    bus.receivers = 0;
    await advance(1_000);
    told();
    for (const receivers of [0, 1]) {
      bus.receivers = receivers;
      await advance(500);
      expect(told().map(({ running }) => running)).toEqual([[{ ...r1, next: 1 }]]);
    }
    await advance(500);
    expect(told()).toEqual([]);
  });
});

describe('an ingress that nobody hears of', () => {
  it('is given up when its channel has no receiver and its sign of life is gone', async () => {
    const { bus, open, endTurn, advance, killIngress, abandoned, publisher } = await createBench();
    const writer = open();
    const onAbandoned = vi.fn();
    writer.whenClosed(onAbandoned);
    open(r2).write(text('a'));
    bus.receivers = 0;
    killIngress();
    writer.write(text('a'));
    await endTurn();
    expect(onAbandoned).not.toHaveBeenCalled();
    await advance(10_000);
    expect(onAbandoned).toHaveBeenCalledOnce();
    expect(abandoned).toEqual([2]);
    expect(publisher.keptCharacters).toBe(0);
  });

  it('is known to be gone then, until it shows a sign of life, and as long as Redis can tell', async () => {
    const { bus, open, endTurn, advance, killIngress, hideIngress, reviveIngress, abandoned, publisher } =
      await createBench();
    open().write(text('a'));
    await endTurn();
    killIngress();
    // Whoever was not given up is not asked about.
    expect(publisher.isGone('mine')).toBeUndefined();
    bus.receivers = 0;
    await advance(10_000);
    expect(await publisher.isGone('mine')).toBe(true);
    // Its job counts as given up.
    expect(abandoned).toEqual([1, 1]);
    expect(publisher.isGone('other')).toBeUndefined();
    hideIngress();
    expect(await publisher.isGone('mine')).toBe(false);
    killIngress();
    open(r2);
    await advance(10_000);
    reviveIngress();
    expect(await publisher.isGone('mine')).toBe(false);
    expect(publisher.isGone('mine')).toBeUndefined();
  });

  it('takes no attempts of another ingress along', async () => {
    const { bus, open, endTurn, advance, killIngress, abandoned, publisher } = await createBench();
    const other = publisher.open({ ...r2, replyTo: 'other' });
    const onAbandoned = vi.fn();
    other?.whenClosed(onAbandoned);
    await bus.subscribe('sluice:reply:other', () => undefined);
    bus.leave('sluice:reply:mine');
    killIngress();
    open().write(text('a'));
    await endTurn();
    await advance(10_000);
    expect(abandoned).toEqual([1]);
    expect(onAbandoned).not.toHaveBeenCalled();
  });

  it('is not given up when Redis cannot tell whether it lives', async () => {
    const { bus, open, endTurn, advance, hideIngress, abandoned } = await createBench();
    open().write(text('a'));
    bus.receivers = 0;
    hideIngress();
    await endTurn();
    await advance(30_000);
    expect(abandoned).toEqual([]);
  });

  it('is not given up while it shows a sign of life, which is looked for at most every three seconds', async () => {
    const { bus, open, endTurn, advance, asked } = await createBench();
    const writer = open();
    const onAbandoned = vi.fn();
    writer.whenClosed(onAbandoned);
    bus.receivers = 0;
    await endTurn();
    await advance(30_000);
    expect(onAbandoned).not.toHaveBeenCalled();
    expect(asked()).toBeGreaterThan(0);
    expect(asked()).toBeLessThanOrEqual(10);
  });

  it('is given up although somebody listens, once it showed no sign of life twice in five seconds', async () => {
    const { open, advance, killIngress, abandoned } = await createBench();
    open();
    killIngress();
    await advance(9_500);
    expect(abandoned).toEqual([]);
    await advance(500);
    expect(abandoned).toEqual([1]);
  });

  it('is not given up if it shows one in between, or while Redis answers no message', async () => {
    const { bus, open, advance, killIngress, reviveIngress, abandoned } = await createBench();
    open();
    for (let round = 0; round < 3; round += 1) {
      killIngress();
      await advance(5_000);
      reviveIngress();
      await advance(5_000);
    }
    killIngress();
    bus.isBreaking = true;
    await advance(30_000);
    expect(abandoned).toEqual([]);
  });

  it('is not given up for being without a sign before and after an outage', async () => {
    const { bus, open, advance, killIngress, abandoned } = await createBench();
    open();
    killIngress();
    await advance(5_000);
    bus.isBreaking = true;
    await advance(5_000);
    bus.isBreaking = false;
    await advance(5_000);
    expect(abandoned).toEqual([]);
    await advance(5_000);
    expect(abandoned).toEqual([1]);
  });

  it('is not given up while a Redis that lost everything does not know it yet', async () => {
    const { bus, open, endTurn, advance, killIngress } = await createBench();
    const writer = open();
    const onAbandoned = vi.fn();
    writer.whenClosed(onAbandoned);
    killIngress();
    bus.receivers = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      writer.write(text('a'));
      await endTurn();
    }
    await advance(2_000);
    bus.receivers = 1;
    await advance(500);
    bus.receivers = 0;
    await advance(2_500);
    expect(onAbandoned).not.toHaveBeenCalled();
  });
});
