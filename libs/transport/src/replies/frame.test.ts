import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyEvent } from './arbitrary.ts';
import { decodeBatch, encodeBatch, encodeFrame } from './frame.ts';

const id = fc.string({ unit: 'binary', minLength: 1 });
const number = fc.nat();
const claim = fc.record({ requestId: id, attempt: number });
const frame = fc.record({ requestId: id, attempt: number, sequence: number, events: fc.array(anyEvent) });
const running = fc.record({ requestId: id, attempt: number, next: number });
const gone = fc.record({ requestId: id, attempt: number, from: number });
/** JSON knows no -0. */
const plain = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

describe('a reply batch', () => {
  it('is decoded to exactly what was encoded', () => {
    const batch = fc.record({
      worker: id,
      claims: fc.array(claim),
      frames: fc.array(frame),
      running: fc.array(running),
      gone: fc.array(gone),
    });
    fc.assert(
      fc.property(batch, (sent) => {
        const text = encodeBatch({ ...sent, frames: sent.frames.map(encodeFrame) });
        expect(decodeBatch(text)).toEqual(plain(sent));
      }),
    );
  });

  it('is short if it has only tokens', () => {
    const event = { type: 'text-delta', block: 0, text: 'hi', tokens: 1 } as const;
    const text = encodeFrame({ requestId: 'r', attempt: 1, sequence: 4, events: [event] });
    expect(text).toBe('["r",1,4,[[0,"hi",1]]]');
    expect(encodeBatch({ worker: 'w', frames: [text] })).toBe('{"v":1,"w":"w","f":[["r",1,4,[[0,"hi",1]]]]}');
  });

  it('distinguishes uncounted tokens from zero tokens', () => {
    const events = [
      { type: 'text-delta', block: 0, text: 'a' } as const,
      { type: 'text-delta', block: 0, text: 'b', tokens: 0 } as const,
    ];
    const text = encodeBatch({
      worker: 'w',
      frames: [encodeFrame({ requestId: 'r', attempt: 1, sequence: 0, events })],
    });
    expect(decodeBatch(text).frames[0]?.events).toEqual(events);
  });

  it('ends an attempt of a newer worker at the first unknown event, and leaves the others whole', () => {
    const text =
      '{"v":1,"w":"w","f":[["r",1,0,[[0,"a",1],{"type":"hologram"},[0,"c",1]]],["s",1,0,[[0,"x",1]]]]}';
    const [newer, other] = decodeBatch(text).frames;
    expect(newer?.events).toMatchObject([{ text: 'a' }, { type: 'error', error: { kind: 'unavailable' } }]);
    expect(other?.events).toMatchObject([{ text: 'x' }]);
  });

  it('that is damaged is refused with an error that repeats nothing of it', () => {
    const text = '{"v":1,"w":"w","f":[["r",1,0,[[0,secret answer",1]]]]}';
    expect(() => decodeBatch(text)).toThrow('a reply batch of an unknown version');
  });

  it.each(['{"v":2,"w":"w"}', '[]', 'null', '"text"'])('of another version is refused: %s', (text) => {
    expect(() => decodeBatch(text)).toThrow('a reply batch of an unknown version');
  });
});
