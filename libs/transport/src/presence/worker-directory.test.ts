import { describe, expect, it } from 'vitest';
import type { WorkerPresence } from './presence.ts';
import { WorkerDirectory } from './worker-directory.ts';

function createBench() {
  let now = 0;
  const lost: [string, string][] = [];
  const expected: boolean[] = [];
  const heardAgain: string[] = [];
  const directory = new WorkerDirectory({
    now: () => now,
    silenceLimitMs: 2_000,
    onLost: (worker, reason, isExpected) => {
      lost.push([worker, reason]);
      expected.push(isExpected);
    },
    onHeardAgain: (worker) => heardAgain.push(worker),
  });
  return {
    directory,
    lost,
    expected,
    heardAgain,
    /** Lets time pass in steps, as the ticks of an ingress do. */
    advance: (durationMs: number, isListening = true) => {
      for (const end = now + durationMs; now < end; ) {
        now += 250;
        directory.check(isListening);
      }
    },
    /** Lets time pass as if our own process stood still. */
    freeze: (durationMs: number) => {
      now += durationMs;
    },
  };
}

const presence = (worker: string, changes: Partial<WorkerPresence> = {}): WorkerPresence => ({
  type: 'presence',
  worker,
  state: 'ready',
  pools: { chat: { slots: 4, resume: 'exact' } },
  ...changes,
});
const serving = (resume: 'exact' | 'prefix' | 'none') => ({ chat: { slots: 4, resume } });

it('a job of a pool may be on its way while a worker that lives says so', () => {
  const { directory } = createBench();
  const reading = { chat: { slots: 4, resume: 'exact', isReading: true } } as const;
  directory.receive(presence('w1', { pools: reading }));
  directory.receive(presence('w2'));
  expect([directory.isReading('chat'), directory.isReading('another')]).toEqual([true, false]);
  directory.receive(presence('w1'));
  expect(directory.isReading('chat')).toBe(false);
  directory.receive(presence('w2', { pools: reading }));
  directory.receive({ type: 'exited', worker: 'w2' });
  expect(directory.isReading('chat')).toBe(false);
});

describe('deaths of a pool', () => {
  it('count each worker once that died or fell silent while it took its jobs', () => {
    const { directory, advance } = createBench();
    for (const worker of ['w1', 'w2', 'w3']) directory.receive(presence(worker));
    directory.receive({ type: 'exited', worker: 'w1' });
    directory.receive({ type: 'exited', worker: 'w1' });
    expect([directory.deathsOf('chat'), directory.deathsOf('another')]).toEqual([1, 0]);
    advance(5_000);
    expect(directory.deathsOf('chat')).toBe(3);
  });

  it('leave out workers that stop taking jobs before they leave', () => {
    const { directory } = createBench();
    directory.receive(presence('w1'));
    directory.receive(presence('w1', { pools: {} }));
    directory.receive({ type: 'exited', worker: 'w1' });
    expect(directory.deathsOf('chat')).toBe(0);
  });
});

describe('slots of a pool', () => {
  it('are not added up anew at each question', () => {
    const { directory } = createBench();
    let looks = 0;
    const chat = {
      get slots() {
        looks += 1;
        return 4;
      },
      resume: 'exact' as const,
    };
    for (let worker = 0; worker < 10; worker += 1)
      directory.receive(presence(`w${worker}`, { pools: { chat } }));
    const before = looks;
    for (let asked = 0; asked < 100; asked += 1) expect(directory.slotsOf('chat')).toBe(40);
    expect(looks).toBe(before);
  });

  it('are those of the living workers that take its jobs', () => {
    const { directory, advance } = createBench();
    for (const worker of ['w1', 'w2', 'w3']) directory.receive(presence(worker));
    directory.receive(presence('w1', { pools: { chat: { slots: 7, resume: 'exact' } } }));
    expect([directory.slotsOf('chat'), directory.slotsOf('another')]).toEqual([15, 0]);
    directory.receive(presence('w2', { state: 'draining' }));
    expect(directory.slotsOf('chat')).toBe(11);
    directory.receive({ type: 'exited', worker: 'w2' });
    directory.receive({ type: 'exited', worker: 'w3' });
    expect(directory.slotsOf('chat')).toBe(7);
    advance(5_000);
    expect(directory.slotsOf('chat')).toBe(0);
  });
});

describe('a worker', () => {
  it('that falls silent is lost, once', () => {
    const { directory, lost, advance } = createBench();
    directory.receive(presence('w1'));
    advance(2_000);
    expect(lost).toEqual([]);
    advance(5_000);
    expect(lost).toEqual([['w1', 'silent']]);
    expect(directory.slotsOf('chat')).toBe(0);
  });

  it('lives as long as it says anything', () => {
    const { directory, lost, advance } = createBench();
    directory.receive(presence('w1'));
    for (let second = 0; second < 10; second += 1) {
      advance(1_000);
      directory.heard('w1');
    }
    expect(lost).toEqual([]);
  });

  it('that was heard before it said who it is can be lost, too', () => {
    const { directory, lost, advance } = createBench();
    directory.heard('w1');
    expect(directory.slotsOf('chat')).toBe(0);
    advance(3_000);
    expect(lost).toEqual([['w1', 'silent']]);
  });

  it('that speaks again after its silence is a new one', () => {
    const { directory, lost, advance } = createBench();
    directory.receive(presence('w1'));
    advance(3_000);
    directory.receive(presence('w1'));
    expect(directory.slotsOf('chat')).toBe(4);
    advance(3_000);
    expect(lost).toHaveLength(2);
  });

  it.each<[string, (bench: ReturnType<typeof createBench>) => void]>([
    ['with its presence', ({ directory }) => directory.receive(presence('w1'))],
    ['with any other message', ({ directory }) => directory.heard('w1')],
  ])('that speaks again after its silence is reported once for each silence, %s', (_, speak) => {
    const bench = createBench();
    for (const silences of [1, 2]) {
      speak(bench);
      speak(bench);
      expect(bench.heardAgain).toHaveLength(silences - 1);
      bench.advance(3_000);
    }
    speak(bench);
    expect(bench.heardAgain).toEqual(['w1', 'w1']);
  });

  it('whose exit was announced after its silence is not heard again', () => {
    const { directory, heardAgain, advance } = createBench();
    directory.receive(presence('w1'));
    advance(3_000);
    directory.receive({ type: 'exited', worker: 'w1' });
    directory.receive(presence('w1'));
    directory.heard('w1');
    expect(heardAgain).toEqual([]);
  });

  it('whose exit was announced is lost at once, and its earlier messages do not bring it back', () => {
    const { directory, lost, advance } = createBench();
    directory.receive(presence('w1'));
    directory.receive({ type: 'exited', worker: 'w1' });
    directory.receive(presence('w1'));
    directory.heard('w1');
    advance(3_000);
    expect(lost).toEqual([['w1', 'exited']]);
    expect([directory.slotsOf('chat'), directory.hasExited('w1')]).toEqual([0, true]);
  });

  it('that was not known can exit: its claims may have arrived', () => {
    const { directory, lost } = createBench();
    directory.receive({ type: 'exited', worker: 'w1' });
    expect(lost).toEqual([['w1', 'exited']]);
  });

  it('that announces its exit, as does its supervisor, is lost once', () => {
    const { directory, lost } = createBench();
    directory.receive(presence('w1'));
    directory.receive({ type: 'exited', worker: 'w1' });
    directory.receive({ type: 'exited', worker: 'w1' });
    expect(lost).toEqual([['w1', 'exited']]);
  });

  it('is expected to leave if it has announced that, and not otherwise', () => {
    const { directory, lost, expected, advance } = createBench();
    for (const worker of ['w1', 'w2', 'w3']) directory.receive(presence(worker));
    directory.receive(presence('w1', { state: 'draining' }));
    directory.receive({ type: 'exited', worker: 'w1' });
    directory.receive({ type: 'exited', worker: 'w2' });
    advance(3_000);
    expect(lost.map(([worker, reason], index) => [worker, reason, expected[index]])).toEqual([
      ['w1', 'draining', true],
      ['w1', 'exited', true],
      ['w2', 'exited', false],
      ['w3', 'silent', false],
    ]);
  });

  it('that drains hands over once and no longer counts, and its exit is still reported', () => {
    const { directory, lost } = createBench();
    directory.receive(presence('w1'));
    directory.receive(presence('w1', { state: 'draining' }));
    expect(lost).toEqual([['w1', 'draining']]);
    directory.receive(presence('w1', { state: 'draining' }));
    expect(directory.slotsOf('chat')).toBe(0);
    directory.receive({ type: 'exited', worker: 'w1' });
    expect(lost).toEqual([
      ['w1', 'draining'],
      ['w1', 'exited'],
    ]);
  });
});

describe('silence is forgiven', () => {
  it('while we could not have heard anybody', () => {
    const { directory, lost, advance } = createBench();
    directory.receive(presence('w1'));
    advance(10_000, false);
    advance(2_000);
    expect(lost).toEqual([]);
    advance(1_000);
    expect(lost).toEqual([['w1', 'silent']]);
  });

  it('after a pause of our own', () => {
    const { directory, lost, freeze, advance } = createBench();
    directory.receive(presence('w1'));
    freeze(30_000);
    directory.check(true);
    expect(lost).toEqual([]);
    advance(2_500);
    expect(lost).toEqual([['w1', 'silent']]);
  });

  it('after a pause of more than half of the limit, and not after a shorter one', () => {
    for (const [pauseMs, reasons] of [
      [1_001, []],
      [1_000, ['silent']],
    ] as const) {
      const { directory, lost, freeze, advance } = createBench();
      directory.receive(presence('w1'));
      advance(1_250);
      freeze(pauseMs);
      directory.check(true);
      expect(lost.map(([, reason]) => reason)).toEqual(reasons);
    }
  });
});

describe('a pool', () => {
  it('has the slots of all workers that take its jobs', () => {
    const { directory } = createBench();
    directory.receive(presence('w1'));
    directory.receive(
      presence('w2', {
        pools: { chat: { slots: 2, resume: 'none' }, code: { slots: 1, resume: 'none' } },
      }),
    );
    directory.receive(presence('w3', { pools: {} }));
    expect([directory.slotsOf('chat'), directory.slotsOf('code'), directory.slotsOf('image')]).toEqual([
      6, 1, 0,
    ]);
  });

  it('resumes after a loss in the way that all its workers can', () => {
    const { directory } = createBench();
    expect(directory.resumeOf('chat')).toBe('none');
    directory.receive(presence('w1', { pools: serving('exact') }));
    directory.receive(presence('w2', { pools: serving('exact') }));
    expect(directory.resumeOf('chat')).toBe('exact');
    // A worker of other pools has no say.
    directory.receive(presence('w4', { pools: { code: { slots: 1, resume: 'none' } } }));
    expect(directory.resumeOf('chat')).toBe('exact');
    directory.receive(presence('w2', { pools: serving('none') }));
    directory.receive(presence('w3', { pools: serving('exact') }));
    expect(directory.resumeOf('chat')).toBe('none');
    directory.receive(presence('w2', { pools: serving('none'), state: 'draining' }));
    expect(directory.resumeOf('chat')).toBe('exact');
  });

  it('whose only worker died resumes with its successor', () => {
    const { directory } = createBench();
    directory.receive(presence('w1', { pools: serving('exact') }));
    directory.receive({ type: 'exited', worker: 'w1' });
    expect([directory.resumeOf('chat'), directory.slotsOf('chat')]).toEqual(['exact', 0]);
    directory.receive(presence('w2', { pools: serving('prefix') }));
    expect(directory.resumeOf('chat')).toBe('prefix');
  });
});

describe('signs of life', () => {
  it('are counted for each worker of a pool, and not those of others', () => {
    const { directory } = createBench();
    directory.receive(presence('w1'));
    directory.receive(presence('w1'));
    directory.receive(presence('w2', { pools: { other: { slots: 1, resume: 'none' } } }));
    directory.heard('w1');
    expect([...directory.beatsOf('chat')]).toEqual([['w1', 2]]);
    expect([...directory.beatsOf('other')]).toEqual([['w2', 1]]);
  });

  it('are those of any worker that does not say what it serves: it may have taken a job before', () => {
    const { directory } = createBench();
    directory.receive(presence('w1', { pools: {} }));
    directory.heard('w2');
    expect([...directory.beatsOf('chat')]).toEqual([
      ['w1', 1],
      ['w2', 0],
    ]);
  });

  it('end with the worker, and begin anew with one that comes back', () => {
    const { directory, advance } = createBench();
    directory.receive(presence('w1'));
    directory.receive(presence('w1'));
    advance(2_250);
    expect([...directory.beatsOf('chat')]).toEqual([]);
    directory.receive(presence('w1'));
    expect([...directory.beatsOf('chat')]).toEqual([['w1', 1]]);
  });
});
