import type { ErrorInfo, GenerationEvent, Resume, Usage } from '@sluice/canonical';
import type { LostReason, Order } from '@sluice/transport';
import { describe, expect, it } from 'vitest';
import { AttemptMachine } from './attempt-machine.ts';

const start: GenerationEvent = { type: 'start', id: 'r', model: 'm', createdAt: 1 };
const usage = { outputTokens: 2 };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage };
const text = (value: string): GenerationEvent => ({ type: 'text-delta', block: 0, text: value, tokens: 1 });
const failure = (error: Partial<ErrorInfo>): GenerationEvent => ({
  type: 'error',
  error: { kind: 'upstream-failed', message: 'it broke', ...error },
});

interface Facts {
  resume?: 'exact' | 'prefix' | 'none';
  isPlainText?: boolean;
  hasShown?: boolean;
}

/** A machine, and a record of all its effects. */
function createBench({ resume = 'none', isPlainText = true, hasShown = true }: Facts = {}) {
  const delivered: GenerationEvent[] = [];
  const enqueued: { attempt: number; resume: Resume | undefined; reason: string }[] = [];
  const withdrawn: number[] = [];
  const orders: ({ worker: string } & Omit<Order, 'requestId'>)[] = [];
  const dropped: string[] = [];
  const asked: string[] = [];
  const done: Usage[] = [];
  let onDeliver: () => void = () => undefined;
  const machine = new AttemptMachine(
    {
      enqueue: (attempt, before, reason) => enqueued.push({ attempt, resume: before, reason }),
      withdraw: (attempt) => withdrawn.push(attempt),
      order: (worker, order) => orders.push({ worker, ...order }),
      deliver: (events) => {
        delivered.push(...events);
        onDeliver();
      },
      dropped: (reason) => dropped.push(reason),
      askedAgain: (reason) => asked.push(reason),
      workerDone: (usage) => done.push(usage),
    },
    { resumeAbility: () => resume, isPlainText, hasShown: () => hasShown, readerFormat: 'openai' },
  );
  return {
    machine,
    delivered,
    enqueued,
    withdrawn,
    dropped,
    asked,
    done,
    orders,
    ordersOf: (kind: Order['kind']) => orders.filter((order) => order.kind === kind),
    text: () => delivered.map((event) => (event.type === 'text-delta' ? event.text : '')).join(''),
    last: () => delivered[delivered.length - 1],
    onDeliver: (callback: () => void) => {
      onDeliver = callback;
    },
  };
}

/** A machine whose worker `a` has delivered a start and some text. */
function createMidway(facts?: Facts) {
  const bench = createBench(facts);
  bench.machine.claimed('a', 1);
  bench.machine.frame('a', 1, 0, [start, text('one ')]);
  return bench;
}

describe('frames of the attempt that counts', () => {
  it('are delivered in order, each once', () => {
    const { machine, delivered, orders } = createBench();
    machine.claimed('a', 1);
    machine.frame('a', 1, 0, [start]);
    machine.frame('a', 1, 1, [text('one '), text('two')]);
    expect(delivered).toEqual([start, text('one '), text('two')]);
    expect(orders).toEqual([]);
    expect(machine.phase).toBe('running');
    expect(machine.deliveredTokens).toBe(2);
  });

  it('count as the claim when they overtake it', () => {
    const { machine, delivered } = createBench();
    machine.frame('a', 1, 0, [start]);
    expect([machine.phase, machine.worker, delivered.length]).toEqual(['running', 'a', 1]);
  });

  it('wait behind a gap, each of which is asked for once', () => {
    const { machine, text: received, ordersOf } = createMidway();
    machine.frame('a', 1, 3, [text('four')]);
    expect(ordersOf('resend')).toEqual([{ worker: 'a', kind: 'resend', attempt: 1, sequence: 1 }]);
    machine.frame('a', 1, 2, [text('three ')]);
    expect(received()).toBe('one ');
    expect(ordersOf('resend')).toHaveLength(1);
    machine.frame('a', 1, 1, [text('two ')]);
    expect(received()).toBe('one two three four');
    machine.frame('a', 1, 5, [text('six')]);
    expect(ordersOf('resend')[1]).toMatchObject({ worker: 'a', sequence: 4 });
  });

  it('are dropped when they come twice', () => {
    const { machine, text: received, dropped } = createMidway();
    machine.frame('a', 1, 0, [start, text('one ')]);
    expect([received(), dropped]).toEqual(['one ', ['duplicate']]);
  });

  it('and come twice do not hide that a later one is missing', () => {
    const { machine, ordersOf } = createMidway();
    machine.frame('a', 1, 0, [start, text('one ')]);
    machine.frame('a', 1, 2, [text('three')]);
    expect(ordersOf('resend')).toMatchObject([{ worker: 'a', sequence: 1 }]);
  });

  it('are acknowledged in steps, so that the worker can let go of them', () => {
    const { machine, ordersOf } = createBench();
    machine.frame('a', 1, 0, [start]);
    for (let sequence = 1; sequence < 130; sequence += 1) machine.frame('a', 1, sequence, [text('x')]);
    expect(ordersOf('acknowledge').map(({ sequence }) => sequence)).toEqual([64, 128]);
  });

  it('are acknowledged by the steps of their own attempt', () => {
    const { machine, ordersOf } = createBench({ resume: 'exact' });
    for (const [attempt, worker] of ['a', 'b'].entries()) {
      for (let sequence = 0; sequence < 64; sequence += 1)
        machine.frame(worker, attempt + 1, sequence, [sequence === 0 ? start : text('x')]);
      machine.workerLost(worker, 'exited');
    }
    expect(ordersOf('acknowledge').map(({ worker, sequence }) => [worker, sequence])).toEqual([
      ['a', 64],
      ['b', 64],
    ]);
  });

  it('are held up to a limit, and what was let go comes again', () => {
    const { machine, delivered, ordersOf } = createMidway();
    for (let sequence = 2; sequence < 600; sequence += 1) machine.frame('a', 1, sequence, [text('x')]);
    machine.frame('a', 1, 1, [text('x')]);
    expect(delivered).toHaveLength(2 + 1 + 512);
    machine.running('a', 1, 600);
    expect(ordersOf('resend').at(-1)).toMatchObject({ sequence: 514 });
  });
});

describe('a heartbeat', () => {
  it('that is ahead shows that the last frame was lost', () => {
    const { machine, ordersOf } = createMidway();
    machine.running('a', 1, 1);
    expect(ordersOf('resend')).toEqual([]);
    machine.running('a', 1, 2);
    expect(ordersOf('resend')).toEqual([{ worker: 'a', kind: 'resend', attempt: 1, sequence: 1 }]);
  });

  it('stands for the claim when that was lost', () => {
    const { machine, ordersOf } = createBench();
    machine.running('a', 1, 3);
    expect(machine.worker).toBe('a');
    expect(ordersOf('resend')).toHaveLength(1);
  });

  it('of an old attempt repeats the cancel, which may have been lost', () => {
    const { machine, ordersOf } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'silent');
    machine.running('a', 1, 5);
    machine.running('a', 1, 6);
    expect(ordersOf('cancel')).toEqual(
      Array(3).fill({ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 }),
    );
  });

  it('of an old attempt takes nothing from the worker that may claim the new one', () => {
    const { machine, text: received } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'silent');
    machine.running('a', 1, 5);
    expect(machine.phase).toBe('queued');
    machine.frame('b', 2, 0, [start, text('two')]);
    expect(received()).toBe('one two');
  });
});

describe('an old attempt', () => {
  it('is fenced off, and cancelled once for all its frames', () => {
    const { machine, text: received, dropped, ordersOf } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('two ')]);
    machine.frame('a', 1, 1, [text('TWO ')]);
    machine.frame('a', 1, 2, [text('THREE ')]);
    expect(received()).toBe('one two ');
    expect(dropped).toEqual(['old-attempt', 'old-attempt']);
    expect(ordersOf('cancel')).toEqual([{ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 }]);
  });

  it('can be the same one in the hands of a second worker, after a stall', () => {
    const { machine, text: received, ordersOf } = createMidway();
    machine.claimed('b', 1);
    machine.frame('b', 1, 0, [start, text('ONE ')]);
    machine.frame('a', 1, 1, [text('two')]);
    expect(received()).toBe('one two');
    expect(ordersOf('cancel')).toEqual([{ worker: 'b', kind: 'cancel', attempt: 1, sequence: 0 }]);
  });

  it('loses to the new one when its claim comes late', () => {
    const { machine, enqueued, ordersOf } = createBench();
    machine.jobLost(false);
    machine.claimed('a', 1);
    expect(enqueued).toEqual([{ attempt: 2, resume: undefined, reason: 'unclaimed' }]);
    expect(machine.phase).toBe('queued');
    expect(ordersOf('cancel')).toEqual([{ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 }]);
  });
});

describe('a worker that is lost', () => {
  it.each<LostReason>(['exited', 'silent', 'draining'])(
    'before anything was delivered is replaced unseen (%s)',
    (reason) => {
      const { machine, enqueued, delivered } = createBench();
      machine.frame('a', 1, 0, [start]);
      machine.workerLost('a', reason);
      machine.frame('b', 2, 0, [{ ...start, createdAt: 2 }, text('one')]);
      expect(enqueued).toMatchObject([{ attempt: 2, resume: undefined }]);
      expect(delivered).toEqual([start, text('one')]);
    },
  );

  it('before it had said its start leaves the start to the next one', () => {
    const { machine, delivered } = createBench();
    machine.claimed('a', 1);
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('one')]);
    expect(delivered).toEqual([start, text('one')]);
  });

  it('is no concern of requests that others hold', () => {
    const { machine, enqueued, last } = createMidway();
    machine.workerLost('b', 'exited');
    expect([enqueued, last()]).toEqual([[], text('one ')]);
  });

  it('midway is followed by one that goes on exactly, with what was delivered', () => {
    const { machine, enqueued, text: received } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('two')]);
    machine.frame('b', 2, 1, [finish]);
    expect(enqueued).toEqual([
      {
        attempt: 2,
        resume: { content: [{ type: 'text', text: 'one ' }], outputTokens: 1 },
        reason: 'exited',
      },
    ]);
    expect(received()).toBe('one two');
    expect(machine.phase).toBe('closed');
  });

  const begin = (block: number): GenerationEvent => ({ type: 'tool-call-start', block, id: 'c', name: 'f' });
  const end = (block: number): GenerationEvent => ({ type: 'tool-call-end', block });

  it('in the middle of a call is followed by one that says its end', () => {
    const { machine, delivered } = createBench({ resume: 'exact' });
    machine.frame('a', 1, 0, [start, begin(0)]);
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, end(0), finish]);
    expect(delivered).toEqual([start, begin(0), end(0), finish]);
  });

  it('midway is followed by one that does not repeat the end of a call that was complete', () => {
    const { machine, delivered } = createBench({ resume: 'exact' });
    machine.frame('a', 1, 0, [start, begin(0), end(0), begin(1)]);
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, end(0), end(1), finish]);
    expect(delivered).toEqual([start, begin(0), end(0), begin(1), end(1), finish]);
  });

  it('midway gives a resume that later frames do not change', () => {
    const { machine, enqueued } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('two')]);
    expect(enqueued[0]?.resume?.content).toEqual([{ type: 'text', text: 'one ' }]);
  });

  it('midway through plain text is followed by one that continues the prefix', () => {
    const { machine, enqueued } = createMidway({ resume: 'prefix' });
    machine.workerLost('a', 'exited');
    expect(enqueued).toHaveLength(1);
  });

  it('midway ends the answer where a prefix would corrupt it: tools or JSON were asked for', () => {
    const { machine, enqueued, last } = createMidway({ resume: 'prefix', isPlainText: false });
    machine.workerLost('a', 'exited');
    expect(enqueued).toEqual([]);
    expect(last()).toMatchObject({ type: 'error', error: { kind: 'unavailable', detail: 'worker-lost' } });
  });

  it('midway ends the answer where a prefix cannot hold what came: reasoning', () => {
    const { machine, enqueued, last } = createBench({ resume: 'prefix' });
    machine.frame('a', 1, 0, [start, { type: 'reasoning-delta', block: 0, text: 'hm' }]);
    machine.frame('a', 1, 1, [{ type: 'text-delta', block: 1, text: 'one' }]);
    machine.workerLost('a', 'exited');
    expect([enqueued, last()?.type]).toEqual([[], 'error']);
  });

  it('midway ends the answer with an error where nothing can go on', () => {
    const { machine, enqueued, last, delivered } = createMidway();
    machine.workerLost('a', 'silent');
    expect(enqueued).toEqual([]);
    expect(last()).toMatchObject({ type: 'error', error: { detail: 'worker-lost' } });
    expect(machine.phase).toBe('closed');
    machine.frame('a', 1, 1, [text('two')]);
    expect(delivered.at(-1)?.type).toBe('error');
  });

  it('is told to stop when it only fell silent: it may live', () => {
    const { machine, ordersOf } = createBench();
    machine.claimed('a', 1);
    machine.workerLost('a', 'silent');
    expect(ordersOf('cancel')).toEqual([{ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 }]);
  });

  it('that dies twice before any output makes the request poison, however well it could be resumed', () => {
    const { machine, enqueued, last } = createBench({ resume: 'exact' });
    machine.claimed('a', 1);
    machine.workerLost('a', 'exited');
    // A start is said before the engine has done anything.
    machine.frame('b', 2, 0, [start]);
    machine.workerLost('b', 'exited');
    expect(enqueued).toHaveLength(1);
    expect(last()).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed', detail: 'poison', retryable: false },
    });
  });
});

describe('a job that vanishes', () => {
  it('three times while a worker died is poison: it kills its worker before that can announce the claim', () => {
    const { machine, enqueued, last } = createBench({ resume: 'exact' });
    for (let time = 1; time <= 3; time += 1) machine.jobLost(true);
    expect(enqueued).toHaveLength(2);
    expect(last()).toMatchObject({ error: { detail: 'poison', retryable: false } });
  });

  it('has cost nothing, because no worker is known to have taken it', () => {
    const { machine } = createBench();
    machine.jobLost(false);
    expect([machine.attempt, machine.hasRun]).toEqual([2, false]);
    machine.claimed('a', 2);
    expect(machine.hasRun).toBe(true);
  });
});

describe('a bystander', () => {
  it('that was moved to the worker that its neighbour took down next goes on', () => {
    const { machine, enqueued, text: received } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'exited');
    machine.claimed('b', 2);
    machine.workerLost('b', 'exited');
    machine.frame('c', 3, 0, [start, text('two'), finish]);
    expect([enqueued.length, received(), machine.phase]).toEqual([2, 'one two', 'closed']);
  });

  it('whose answer got on each time outlives two deaths, and not a third', () => {
    const { machine, enqueued, last } = createMidway({ resume: 'exact' });
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('two ')]);
    machine.workerLost('b', 'exited');
    machine.frame('c', 3, 0, [start, text('three ')]);
    expect(enqueued).toHaveLength(2);
    machine.workerLost('c', 'exited');
    expect(last()).toMatchObject({ error: { detail: 'poison' } });
  });

  it('is not blamed for a silence in which its answer had got on', () => {
    const { machine, enqueued } = createMidway({ resume: 'exact' });
    for (const [index, worker] of ['a', 'b', 'c', 'd'].entries()) {
      machine.frame(worker, index + 1, index === 0 ? 1 : 0, [text('more ')]);
      machine.workerLost(worker, 'silent');
    }
    expect(enqueued).toHaveLength(4);
  });

  it('is not blamed for it either if the last that came was no content', () => {
    const { machine, enqueued } = createMidway({ resume: 'exact' });
    for (const [index, worker] of ['a', 'b', 'c', 'd'].entries()) {
      const first = index === 0 ? 1 : 0;
      machine.frame(worker, index + 1, first, [text('more ')]);
      machine.frame(worker, index + 1, first + 1, [
        { type: 'block-annotation', block: 0, extensions: { openai: {} } },
      ]);
      machine.workerLost(worker, 'silent');
    }
    expect(enqueued).toHaveLength(4);
  });

  it('that had made progress is still given up when it makes none any more', () => {
    const { machine, last } = createMidway({ resume: 'exact' });
    for (const [index, worker] of ['a', 'b', 'c', 'd'].entries()) {
      machine.claimed(worker, index + 1);
      machine.workerLost(worker, 'silent');
    }
    expect(last()).toMatchObject({ error: { detail: 'poison' } });
  });

  it('is given up after three silences that nothing came before', () => {
    const { machine, enqueued, last } = createBench();
    for (const [index, worker] of ['a', 'b', 'c'].entries()) {
      machine.claimed(worker, index + 1);
      machine.workerLost(worker, 'silent');
    }
    expect(enqueued).toHaveLength(2);
    expect(last()).toMatchObject({ error: { detail: 'poison' } });
  });
});

describe('a worker that drains', () => {
  it('keeps what cannot go on elsewhere', () => {
    const { machine, enqueued, orders, text: received } = createMidway();
    machine.workerLost('a', 'draining');
    machine.frame('a', 1, 1, [text('two')]);
    expect([enqueued, orders, received()]).toEqual([[], [], 'one two']);
  });

  it('hands over what can go on, and is no step towards poison', () => {
    const { machine, enqueued, ordersOf } = createMidway({ resume: 'exact' });
    for (const [index, worker] of ['a', 'b', 'c'].entries()) {
      machine.claimed(worker, index + 1);
      machine.workerLost(worker, 'draining');
    }
    expect(enqueued.map(({ attempt, reason }) => [attempt, reason])).toEqual([
      [2, 'drained'],
      [3, 'drained'],
      [4, 'drained'],
    ]);
    expect(ordersOf('cancel').map(({ worker }) => worker)).toEqual(['a', 'b', 'c']);
  });

  it('may say so as an error first', () => {
    const drained = failure({ kind: 'unavailable', detail: 'drained' });
    const able = createMidway({ resume: 'exact' });
    able.machine.frame('a', 1, 1, [drained]);
    expect(able.enqueued).toMatchObject([{ attempt: 2, reason: 'failed' }]);
    const unable = createMidway();
    unable.machine.frame('a', 1, 1, [drained]);
    expect([unable.enqueued, unable.last()]).toEqual([[], drained]);
  });
});

describe('an answer of which the client has seen nothing', () => {
  it('is said anew by the next attempt, from its start on', () => {
    const { machine, delivered, enqueued, last } = createMidway({ hasShown: false });
    machine.workerLost('a', 'exited');
    expect(enqueued).toEqual([{ attempt: 2, resume: undefined, reason: 'exited' }]);
    expect(machine.deliveredTokens).toBe(0);
    machine.frame('b', 2, 0, [start, text('all ')]);
    machine.frame('b', 2, 1, [finish]);
    expect(delivered.slice(2)).toEqual([start, text('all '), finish]);
    expect([machine.deliveredTokens, machine.phase, last()]).toEqual([1, 'closed', finish]);
  });

  it('goes on where its engine does so, and stays with a worker that drains and may end it in time', () => {
    const exact = createMidway({ hasShown: false, resume: 'exact' });
    exact.machine.workerLost('a', 'exited');
    expect(exact.enqueued[0]?.resume?.outputTokens).toBe(1);
    const draining = createMidway({ hasShown: false });
    draining.machine.workerLost('a', 'draining');
    expect(draining.enqueued).toEqual([]);
    draining.machine.frame('a', 1, 1, [failure({ kind: 'unavailable', detail: 'drained' })]);
    expect(draining.enqueued).toMatchObject([{ attempt: 2, reason: 'failed' }]);
  });

  it('is given up like any other when it takes its workers down', () => {
    const { machine, last } = createMidway({ hasShown: false });
    for (let attempt = 1; machine.phase !== 'closed' && attempt < 9; attempt += 1) {
      machine.frame('a', attempt, 0, [start, text('one ')]);
      machine.workerLost('a', 'exited');
    }
    expect([machine.attempt, last()]).toMatchObject([3, { type: 'error', error: { detail: 'poison' } }]);
  });
});

describe('an attempt that fails', () => {
  it('for want of capacity, before content, is tried again twice and not more', () => {
    const { machine, enqueued, delivered } = createBench();
    const busy = failure({ kind: 'unavailable' });
    machine.frame('a', 1, 0, [start, busy]);
    machine.frame('b', 2, 0, [busy]);
    machine.frame('c', 3, 0, [busy]);
    expect(enqueued.map(({ attempt }) => attempt)).toEqual([2, 3]);
    // The client should not retry what all engines have refused.
    expect(delivered).toEqual([start, failure({ kind: 'unavailable', retryable: false })]);
    expect(machine.phase).toBe('closed');
  });

  it('for want of capacity for a named time is not tried again, but the client may', () => {
    const { machine, enqueued, last } = createBench();
    const busy = failure({ kind: 'unavailable', retryAfterMs: 7_000 });
    machine.frame('a', 1, 0, [start, busy]);
    expect([enqueued, last(), machine.phase]).toEqual([[], busy, 'closed']);
    const other = createBench();
    other.machine.frame('a', 1, 0, [failure({ kind: 'unavailable', retryAfterMs: 1_000 })]);
    expect(other.enqueued).toMatchObject([{ attempt: 2 }]);
  });

  it('has cost something unless it reports that its prompt, too, cost nothing', () => {
    const refusal = { type: 'error', error: { kind: 'unavailable', message: 'busy' } } as const;
    for (const [inputTokens, outputTokens, hasRun] of [
      [0, 0, false],
      [5, 0, true],
      [0, 5, true],
    ] as const) {
      const { machine } = createBench();
      machine.frame('a', 1, 0, [{ ...refusal, usage: { inputTokens, outputTokens } }]);
      expect([machine.attempt, machine.hasRun]).toEqual([2, hasRun]);
    }
  });

  it('that cost nothing does not take back what an attempt before it may have cost', () => {
    const { machine } = createBench();
    machine.claimed('a', 1);
    machine.workerLost('a', 'exited');
    expect([machine.phase, machine.hasRun]).toEqual(['queued', true]);
    const usage = { inputTokens: 0, outputTokens: 0 };
    machine.frame('b', 2, 0, [{ type: 'error', error: { kind: 'unavailable', message: 'busy' }, usage }]);
    expect([machine.phase, machine.hasRun]).toEqual(['queued', true]);
  });

  it('for want of capacity that will not change is final', () => {
    const { machine, enqueued, last } = createBench();
    const closed = failure({ kind: 'unavailable', retryable: false });
    machine.frame('a', 1, 0, [start, closed]);
    expect([enqueued, last(), machine.phase]).toEqual([[], closed, 'closed']);
  });

  it('after content ends the answer with its own error, also when both share a frame', () => {
    const { machine, enqueued, last, text: received } = createBench({ resume: 'exact' });
    const busy = failure({ kind: 'unavailable', message: 'the upstream went away' });
    machine.frame('a', 1, 0, [start, text('one'), busy]);
    expect([enqueued, received(), last()]).toEqual([[], 'one', busy]);
  });

  it('for a reason that another worker would have, too, is final', () => {
    const { machine, enqueued, last } = createBench();
    const refused = failure({ kind: 'invalid-request' });
    machine.frame('a', 1, 0, [refused]);
    expect([enqueued, last(), machine.phase]).toEqual([[], refused, 'closed']);
  });

  it('starts no other when the client left while it was handed the last events', () => {
    const { machine, enqueued, onDeliver } = createBench();
    onDeliver(() => machine.cancel());
    machine.frame('a', 1, 0, [start, failure({ kind: 'unavailable' })]);
    expect([enqueued, machine.phase]).toEqual([[], 'closed']);
  });

  it('does not follow what the client has seen beside the content, which would be said twice', () => {
    const sound: GenerationEvent = { type: 'opaque', format: 'openai', value: { delta: { audio: 'x' } } };
    for (const resume of ['none', 'prefix'] as const) {
      const { machine, enqueued, last } = createBench({ resume });
      machine.frame('a', 1, 0, [start, sound]);
      machine.workerLost('a', 'exited');
      expect([enqueued, last()]).toMatchObject([[], { type: 'error', error: { detail: 'worker-lost' } }]);
    }
    const refused = createBench();
    refused.machine.frame('a', 1, 0, [start, sound, failure({ kind: 'unavailable' })]);
    expect([refused.enqueued, refused.last()]).toMatchObject([[], { error: { message: 'it broke' } }]);
    const empty: GenerationEvent = { ...sound, value: { delta: { annotations: [], audio: '' } } };
    for (const event of [{ ...sound, format: 'gemini' }, empty]) {
      const { machine, enqueued } = createBench();
      machine.frame('a', 1, 0, [start, event]);
      machine.workerLost('a', 'exited');
      expect(enqueued).toMatchObject([{ attempt: 2, reason: 'exited' }]);
    }
  });

  it('is not repeated for ever', () => {
    const { machine, enqueued, last } = createBench();
    for (let attempt = 1; attempt <= 20; attempt += 1) machine.jobLost(false);
    expect(enqueued).toHaveLength(7);
    expect(last()).toMatchObject({ type: 'error' });
  });
});

describe('frames that the worker no longer keeps', () => {
  it('mean a new attempt where it can go on, and the old one is cancelled', () => {
    const { machine, enqueued, ordersOf } = createMidway({ resume: 'exact' });
    machine.gone('a', 1, 1);
    expect(enqueued).toMatchObject([{ attempt: 2, reason: 'frames-gone' }]);
    expect(ordersOf('cancel')).toHaveLength(1);
  });

  it('end the answer where it cannot go on, and a client that did not pause may try again', () => {
    const { machine, enqueued, last } = createMidway();
    machine.gone('a', 1, 1);
    expect(enqueued).toEqual([]);
    expect(last()).toEqual({ type: 'error', error: expect.objectContaining({ detail: 'worker-lost' }) });
    expect(last()).not.toHaveProperty('error.retryable');
  });

  it('need no new attempt when they have arrived meanwhile', () => {
    const { machine, enqueued, last } = createMidway();
    machine.gone('a', 1, 0);
    expect([enqueued, last()]).toEqual([[], text('one ')]);
  });
});

describe('the end', () => {
  it('is acknowledged with everything before it', () => {
    const { machine, ordersOf, last } = createMidway();
    machine.frame('a', 1, 1, [finish]);
    expect(last()).toBe(finish);
    expect(ordersOf('acknowledge')).toEqual([{ worker: 'a', kind: 'acknowledge', attempt: 1, sequence: 2 }]);
  });

  it('is followed by nothing, whatever comes', () => {
    const { machine, delivered, enqueued } = createMidway({ resume: 'exact' });
    machine.frame('a', 1, 1, [finish]);
    machine.frame('a', 1, 2, [text('more')]);
    machine.frame('b', 2, 0, [start]);
    machine.running('a', 1, 9);
    machine.gone('a', 1, 9);
    machine.workerLost('a', 'exited');
    machine.jobLost(false);
    machine.askForMissed();
    machine.fail({ kind: 'deadline-exceeded', message: 'late' });
    machine.cancel();
    expect(delivered).toEqual([start, text('one '), finish]);
    expect(enqueued).toEqual([]);
  });

  it('by an error of the ingress comes once, and stops the worker', () => {
    const { machine, last, ordersOf } = createMidway();
    machine.fail({ kind: 'deadline-exceeded', message: 'late' });
    expect(last()).toEqual({ type: 'error', error: { kind: 'deadline-exceeded', message: 'late' } });
    expect(ordersOf('cancel')).toHaveLength(1);
  });

  it('by an error of the ingress takes a waiting job out of the queue', () => {
    const { machine, withdrawn, last } = createBench();
    machine.fail({ kind: 'deadline-exceeded', message: 'late' });
    expect([withdrawn, last()?.type]).toEqual([[1], 'error']);
  });
});

describe('a cancel', () => {
  it('of a waiting request takes the job out and delivers nothing', () => {
    const { machine, withdrawn, delivered, orders } = createBench();
    machine.cancel();
    machine.cancel();
    expect([withdrawn, delivered, orders, machine.phase]).toEqual([[1], [], [], 'closed']);
  });

  it('that crosses with the claim reaches the worker then', () => {
    const { machine, ordersOf } = createBench();
    machine.cancel();
    machine.claimed('a', 1);
    expect(ordersOf('cancel')).toEqual([{ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 }]);
  });

  it('of a running request stops the worker and delivers nothing more', () => {
    const { machine, delivered, ordersOf, withdrawn } = createMidway();
    machine.cancel();
    machine.frame('a', 1, 1, [finish]);
    expect(delivered).toEqual([start, text('one ')]);
    expect(ordersOf('cancel')[0]).toEqual({ worker: 'a', kind: 'cancel', attempt: 1, sequence: 0 });
    expect(withdrawn).toEqual([]);
  });

  it('from within a delivery takes effect at once', () => {
    const { machine, delivered, onDeliver } = createMidway();
    machine.frame('a', 1, 2, [text('three')]);
    onDeliver(() => machine.cancel());
    machine.frame('a', 1, 1, [text('two ')]);
    expect(delivered.at(-1)).toEqual(text('two '));
  });
});

describe('a client that reads too slowly', () => {
  it('has frames asked for again that were not lost, until it has caught up', () => {
    const { machine, asked } = createMidway();
    machine.pause();
    machine.frame('a', 1, 1, [text('two ')]);
    machine.resume();
    machine.frame('a', 1, 3, [text('four ')]);
    machine.running('a', 1, 4);
    expect(new Set(asked)).toEqual(new Set(['paused']));
    for (const [at, word] of ['two ', 'three '].entries()) machine.frame('a', 1, at + 1, [text(word)]);
    asked.length = 0;
    machine.frame('a', 1, 5, [text('six ')]);
    expect(asked).toEqual(['missing']);
  });

  it('gets what it missed when it reads again', () => {
    const { machine, text: received, dropped, ordersOf } = createMidway();
    machine.pause();
    machine.frame('a', 1, 1, [text('two ')]);
    machine.running('a', 1, 2);
    expect([received(), dropped, ordersOf('resend')]).toEqual(['one ', ['paused'], []]);
    machine.resume();
    machine.resume();
    expect(ordersOf('resend')).toEqual([{ worker: 'a', kind: 'resend', attempt: 1, sequence: 1 }]);
    machine.frame('a', 1, 1, [text('two ')]);
    machine.frame('a', 1, 2, [finish]);
    expect([received(), machine.phase]).toEqual(['one two ', 'closed']);
  });

  it('does not hide that its worker is done, and at what cost', () => {
    const { machine, delivered, done } = createMidway();
    machine.pause();
    machine.frame('a', 1, 1, [text('two ')]);
    expect(done).toEqual([]);
    machine.frame('a', 1, 2, [text('three'), finish]);
    expect(done).toEqual([usage]);
    expect(delivered).not.toContainEqual(finish);
  });

  it('keeps its worker from dropping frames: they are acknowledged when the worker has stopped moving', () => {
    const { machine, ordersOf } = createMidway();
    machine.pause();
    for (const next of [4, 9]) machine.running('a', 1, next);
    expect(ordersOf('acknowledge')).toEqual([]);
    machine.running('a', 1, 9);
    machine.running('a', 1, 9);
    const order = { worker: 'a', kind: 'acknowledge', attempt: 1, sequence: 1 };
    expect(ordersOf('acknowledge')).toEqual([order, order]);
    machine.resume();
    expect(ordersOf('resend')).toEqual([{ worker: 'a', kind: 'resend', attempt: 1, sequence: 1 }]);
  });

  it('is told so when the rest is not kept any more, and not that a worker was lost', () => {
    const { machine, enqueued, last } = createMidway();
    machine.pause();
    machine.resume();
    machine.gone('a', 1, 1);
    expect(enqueued).toEqual([]);
    expect(last()).toMatchObject({
      error: { message: expect.stringContaining('read too slowly'), retryable: false },
    });
  });

  it('that has caught up is not blamed for a worker that is lost later', () => {
    const { machine, last } = createMidway();
    machine.pause();
    machine.resume();
    machine.workerLost('a', 'exited');
    expect(last()).toMatchObject({ error: { detail: 'worker-lost' } });
  });

  it('gets the rest from another worker where one can go on', () => {
    const { machine, enqueued } = createMidway({ resume: 'exact' });
    machine.pause();
    machine.resume();
    machine.gone('a', 1, 1);
    expect(enqueued).toMatchObject([{ attempt: 2, reason: 'frames-gone' }]);
  });

  it('is not handed what was held behind a gap', () => {
    const { machine, text: received, onDeliver } = createMidway();
    machine.frame('a', 1, 2, [text('three ')]);
    onDeliver(() => machine.pause());
    machine.frame('a', 1, 1, [text('two ')]);
    expect(received()).toBe('one two ');
  });

  it('loses nothing when its worker is lost meanwhile', () => {
    const { machine, text: received, ordersOf } = createMidway({ resume: 'exact' });
    machine.pause();
    machine.workerLost('a', 'exited');
    machine.frame('b', 2, 0, [start, text('two')]);
    machine.resume();
    expect(ordersOf('resend')).toEqual([{ worker: 'b', kind: 'resend', attempt: 2, sequence: 0 }]);
    machine.frame('b', 2, 0, [start, text('two')]);
    expect(received()).toBe('one two');
  });
});

describe('after our subscription was away', () => {
  it('a running request asks for what it missed', () => {
    const { machine, ordersOf } = createMidway();
    machine.askForMissed();
    expect(ordersOf('resend')).toEqual([{ worker: 'a', kind: 'resend', attempt: 1, sequence: 1 }]);
  });

  it('a waiting or paused one asks nothing', () => {
    const waiting = createBench();
    waiting.machine.askForMissed();
    const paused = createMidway();
    paused.machine.pause();
    paused.machine.askForMissed();
    expect([waiting.orders, paused.orders]).toEqual([[], []]);
  });
});
