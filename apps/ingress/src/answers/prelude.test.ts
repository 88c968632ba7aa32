import type { GenerationEvent } from '@sluice/canonical';
import type { StreamEncoder } from '@sluice/formats';
import { describe, expect, it } from 'vitest';
import { Prelude } from './prelude.ts';

const start = (id: string): GenerationEvent => ({ type: 'start', id, model: 'm', createdAt: 1 });
const own: GenerationEvent = { type: 'opaque', format: 'openai', value: { delta: { news: 1 } } };
const text: GenerationEvent = { type: 'text-delta', block: 0, text: 'a' };
const thought: GenerationEvent = { type: 'reasoning-delta', block: 0, text: 'well' };
const call: GenerationEvent = { type: 'tool-call-start', block: 0, id: 'c', name: 'feed' };
const finish: GenerationEvent = { type: 'finish', reason: 'stop', usage: {} };
const error: GenerationEvent = { type: 'error', error: { kind: 'unavailable', message: 'away' } };

/** A format that does not show thinking, and shows calls with what follows them. */
function createEncoder(): StreamEncoder {
  let held = '';
  return {
    contentType: 'text/plain',
    push({ type }) {
      if (type === 'tool-call-start') held = type;
      if (type === 'tool-call-start' || type === 'start') return '';
      const shown = held + (type === 'reasoning-delta' ? '' : type);
      held = '';
      return shown;
    },
    keepAlive: () => '',
  };
}

describe('what comes before the first content', () => {
  it('waits for it, and goes before it', () => {
    const prelude = new Prelude(createEncoder);
    expect(prelude.take(0, [start('a')])).toEqual([]);
    expect(prelude.take(0, [own])).toEqual([]);
    expect(prelude.take(0, [text])).toEqual([start('a'), own, text]);
    expect(prelude.take(0, [own])).toEqual([own]);
  });

  it('waits for content that the format shows', () => {
    const prelude = new Prelude(createEncoder);
    expect(prelude.take(0, [start('a'), thought])).toEqual([]);
    expect(prelude.take(0, [{ ...text, block: 1 }])).toEqual([start('a'), thought, { ...text, block: 1 }]);
  });

  it('does not wait for a text where the answer is a sound that only its own format knows', () => {
    const prelude = new Prelude(createEncoder);
    const sound: GenerationEvent = { ...own, isContent: true };
    expect(prelude.take(0, [start('a')])).toEqual([]);
    expect(prelude.take(0, [sound])).toEqual([start('a'), sound]);
  });

  it('waits for the content of its own choice', () => {
    const prelude = new Prelude(createEncoder);
    expect(prelude.take(0, [start('a')])).toEqual([]);
    expect(prelude.take(1, [start('b'), text])).toEqual([start('b'), text]);
    expect(prelude.take(0, [text])).toEqual([start('a'), text]);
  });

  it('goes before the end of an answer that has no content', () => {
    const prelude = new Prelude(createEncoder);
    prelude.take(0, [start('a')]);
    expect(prelude.take(0, [finish])).toEqual([start('a'), finish]);
  });

  it('goes with the attempt that was lost before its content', () => {
    const prelude = new Prelude(createEncoder);
    prelude.take(0, [start('a'), thought]);
    expect(prelude.take(0, [start('a'), own])).toEqual([]);
    expect(prelude.take(0, [text])).toEqual([start('a'), own, text]);
  });

  it('goes with the model that fails before its content', () => {
    const prelude = new Prelude(createEncoder);
    prelude.take(0, [start('a'), own]);
    prelude.forget();
    expect(prelude.take(0, [start('b')])).toEqual([]);
    expect(prelude.take(0, [text])).toEqual([start('b'), text]);
    const failing = new Prelude(createEncoder);
    failing.take(0, [start('a'), own]);
    expect(failing.take(0, [error])).toEqual([error]);
  });

  it('forgets with that model the call that it was in', () => {
    const prelude = new Prelude(createEncoder);
    expect(prelude.take(0, [start('a'), call])).toEqual([]);
    prelude.forget();
    expect(prelude.take(0, [start('b'), thought])).toEqual([]);
    expect(prelude.take(0, [text])).toEqual([start('b'), thought, text]);
  });
});
