import type { GenerationEvent } from '@sluice/canonical';
import { Collector, collect } from '@sluice/canonical';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openEvent } from './arbitrary.ts';
import { decodeBatch, type Frame } from './frame.ts';
import { AttemptFrames, keptLimit } from './reply-writer.ts';

const unlimited = Number.POSITIVE_INFINITY;
const text = (value: string, tokens?: number): GenerationEvent => ({
  type: 'text-delta',
  block: 0,
  text: value,
  ...(tokens !== undefined && { tokens }),
});
const thought = (block: number, value: string): GenerationEvent => ({
  type: 'reasoning-delta',
  block,
  text: value,
});
const argument = (block: number, value: string): GenerationEvent => ({
  type: 'tool-call-delta',
  block,
  arguments: value,
});
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };

function create() {
  let writes = 0;
  const frames = new AttemptFrames({ requestId: 'r', attempt: 1 }, 'ingress', () => {
    writes += 1;
  });
  return { frames, writes: () => writes };
}

/** The frame in the text; absent when there was none. */
function read(frame: string | undefined): Frame | undefined {
  return frame === undefined ? undefined : decodeBatch(`{"v":1,"w":"w","f":[${frame}]}`).frames[0];
}

describe('events of one turn', () => {
  it('become one frame, announced once', () => {
    const { frames, writes } = create();
    frames.write(text('a'));
    frames.write({ type: 'tool-call-start', block: 1, id: 'c', name: 'f' });
    expect(writes()).toBe(1);
    expect(read(frames.takeFrame())).toMatchObject({ sequence: 0, events: [{ text: 'a' }, { name: 'f' }] });
    expect(frames.takeFrame()).toBeUndefined();
    frames.write(text('b'));
    expect([writes(), read(frames.takeFrame())?.sequence, frames.next]).toEqual([2, 1, 2]);
  });

  it('are merged where they continue one block, and their tokens add up', () => {
    const { frames } = create();
    for (const event of [text('a', 1), text('b'), text('c', 2)]) frames.write(event);
    expect(read(frames.takeFrame())?.events).toEqual([text('abc', 3)]);
  });

  it('are announced once, however many are merged', () => {
    const { frames, writes } = create();
    for (let turn = 1; turn <= 2; turn += 1) {
      for (const event of [text('a'), text('b'), text('c'), thought(1, 'd'), thought(1, 'e')])
        frames.write(event);
      expect(writes()).toBe(turn);
      frames.takeFrame();
    }
  });

  it('are merged in the same way where they are reasoning or the arguments of a call', () => {
    const { frames } = create();
    for (const event of [thought(0, 'a'), thought(0, 'b'), argument(1, '{'), argument(1, '}')]) {
      frames.write(event);
    }
    expect(read(frames.takeFrame())?.events).toEqual([thought(0, 'ab'), argument(1, '{}')]);
  });

  it('that were not counted stay uncounted', () => {
    const { frames } = create();
    frames.write(text('a'));
    frames.write(text('b'));
    expect(read(frames.takeFrame())?.events).toEqual([text('ab')]);
  });

  it.each<[string, GenerationEvent[]]>([
    ['another block', [text('a'), { type: 'text-delta', block: 1, text: 'b' }]],
    ['the start of a call', [{ type: 'tool-call-start', block: 1, id: 'c', name: 'f' }, argument(1, '{')]],
    ['another call', [argument(1, '{'), argument(2, '{'), argument(1, '}')]],
    ['other reasoning', [thought(0, 'a'), thought(1, 'b')]],
    ['another kind', [text('a'), { type: 'reasoning-delta', block: 0, text: 'b' }]],
    ['log probabilities', [{ type: 'text-delta', block: 0, text: 'a', logprobs: [1] }, text('b')]],
    ['later log probabilities', [text('a'), { type: 'text-delta', block: 0, text: 'b', logprobs: [1] }]],
    ['an annotation between', [text('a'), { type: 'block-annotation', block: 0, extensions: {} }, text('b')]],
  ])('stay apart for %s', (_reason, events) => {
    const { frames } = create();
    for (const event of events) frames.write(structuredClone(event));
    expect(read(frames.takeFrame())?.events).toEqual(events);
  });

  it('merge without changing what they say, wherever the turns end', () => {
    const turns = fc.array(fc.array(openEvent, { maxLength: 6 }), { maxLength: 6 });
    fc.assert(
      fc.property(turns, (written) => {
        const { frames } = create();
        const sent = new Collector();
        const received = new Collector();
        for (const turn of written) {
          for (const event of turn) {
            sent.push(structuredClone(event));
            frames.write(structuredClone(event));
          }
          for (const event of read(frames.takeFrame())?.events ?? []) received.push(event);
        }
        const normal = ({ content, outputTokens }: Collector) =>
          JSON.parse(JSON.stringify({ content, outputTokens }));
        expect(normal(received)).toEqual(normal(sent));
      }),
    );
  });

  it('end with the terminal one, whatever the engine does', () => {
    const { frames } = create();
    for (const event of [
      { type: 'start', id: 'r', model: 'm', createdAt: 1 } as const,
      text('a'),
      finish,
      text('b'),
      finish,
    ]) {
      frames.write(event);
    }
    expect(frames.isEnded).toBe(true);
    const events = read(frames.takeFrame())?.events ?? [];
    expect(collect(events).content).toEqual([{ type: 'text', text: 'a' }]);
    expect(events).toHaveLength(3);
  });
});

describe('a part so large that Redis would cut off its subscriber', () => {
  const mebibyte = 1024 * 1024;
  const part = (size: number): GenerationEvent => ({ type: 'opaque', format: 'x', value: 'y'.repeat(size) });

  it('is spread over several frames, all of which can be asked for', () => {
    const { frames } = create();
    for (let index = 0; index < 5; index += 1) frames.write(part(9 * mebibyte));
    frames.write(finish);
    const taken: Frame[] = [];
    for (let text = frames.takeFrame(); text !== undefined; text = frames.takeFrame()) {
      expect(text.length).toBeLessThan(30 * mebibyte);
      taken.push(...decodeBatch(`{"v":1,"w":"w","f":[${text}]}`).frames);
    }
    expect(taken.map(({ sequence }) => sequence)).toEqual([0, 1]);
    expect(taken.flatMap(({ events }) => events.map(({ type }) => type))).toEqual([
      ...Array(5).fill('opaque'),
      'finish',
    ]);
    expect(frames.framesFrom(0, unlimited)).toHaveLength(2);
    expect([frames.isEnded, frames.acknowledge(2)]).toEqual([true, true]);
  });

  it('is spread over two frames where it is two events', () => {
    const { frames } = create();
    frames.write(part(16 * mebibyte));
    frames.write(part(16 * mebibyte));
    expect(read(frames.takeFrame())?.events).toHaveLength(1);
    expect(read(frames.takeFrame())?.events).toMatchObject([{ type: 'opaque' }]);
    expect([frames.takeFrame(), frames.isEnded]).toEqual([undefined, false]);
  });

  it.each([
    ['y', 31],
    ['字', 11],
  ])('ends the attempt where it is one event, and tells who writes: %s', (letter, count) => {
    const { frames } = create();
    const told: string[] = [];
    frames.whenClosed((reason) => told.push(reason));
    frames.write(text('before'));
    frames.write({ type: 'opaque', format: 'x', value: letter.repeat(count * mebibyte) });
    frames.write(text('behind'));
    expect(read(frames.takeFrame())?.events).toEqual([text('before')]);
    expect(told).toEqual([]);
    expect(read(frames.takeFrame())?.events).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed', retryable: false } },
    ]);
    frames.write(text('after'));
    expect([frames.takeFrame(), frames.isEnded, frames.next]).toEqual([undefined, true, 2]);
    expect(told).toEqual(['unsendable']);
  });
});

describe('kept frames', () => {
  const createKept = (count: number) => {
    const { frames } = create();
    for (let index = 0; index < count; index += 1) {
      frames.write(text(String(index)));
      frames.takeFrame();
    }
    return frames;
  };
  const sequences = (texts: string[] | undefined) => texts?.map((frame) => read(frame)?.sequence);

  it('can be asked for from any sequence on', () => {
    const frames = createKept(4);
    expect(sequences(frames.framesFrom(0, unlimited))).toEqual([0, 1, 2, 3]);
    expect(sequences(frames.framesFrom(2, unlimited))).toEqual([2, 3]);
    expect(frames.framesFrom(4, unlimited)).toEqual([]);
  });

  it('come in pieces of limited size, but one at least', () => {
    const frames = createKept(4);
    expect(sequences(frames.framesFrom(1, 1))).toEqual([1]);
    const size = frames.framesFrom(0, unlimited)?.[0]?.length ?? 0;
    expect(sequences(frames.framesFrom(0, 2 * size))).toEqual([0, 1]);
  });

  it('are dropped when they are acknowledged, and then are gone', () => {
    const frames = createKept(4);
    const before = frames.keptCharacters;
    expect(frames.acknowledge(3)).toBe(false);
    expect(frames.framesFrom(2, unlimited)).toBeUndefined();
    expect(sequences(frames.framesFrom(3, unlimited))).toEqual([3]);
    expect(frames.keptCharacters).toBe(before / 4);
    frames.acknowledge(1);
    expect(sequences(frames.framesFrom(3, unlimited))).toEqual([3]);
  });

  it('are complete only when all are dropped after the end', () => {
    const frames = createKept(1);
    frames.write(finish);
    expect(frames.acknowledge(1)).toBe(false);
    frames.takeFrame();
    expect(frames.acknowledge(2)).toBe(true);
    expect(frames.keptCharacters).toBe(0);
  });

  it('are bounded: the oldest go first, and the newest always stays', () => {
    const { frames } = create();
    const large = 'x'.repeat(keptLimit / 4);
    for (let index = 0; index < 6; index += 1) {
      frames.write(text(large));
      frames.takeFrame();
      expect(frames.keptCharacters).toBeLessThanOrEqual(keptLimit + large.length);
    }
    expect(frames.framesFrom(1, unlimited)).toBeUndefined();
    expect(sequences(frames.framesFrom(2, unlimited))).toEqual([2, 3, 4, 5]);
    frames.write(text('y'.repeat(keptLimit * 2)));
    frames.takeFrame();
    expect(sequences(frames.framesFrom(6, unlimited))).toEqual([6]);
  });

  it('stay until as much has followed: a large frame is kept with the end of its answer', () => {
    const { frames } = create();
    frames.write(text('y'.repeat(keptLimit * 2)));
    frames.takeFrame();
    frames.write(finish);
    frames.takeFrame();
    expect(sequences(frames.framesFrom(0, unlimited))).toEqual([0, 1]);
  });
});
