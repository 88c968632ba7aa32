import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Collector, collect } from './collect.ts';
import { SluiceError } from './error.ts';
import type { FinishEvent, GenerationEvent, StartEvent } from './event.ts';

const start: StartEvent = { type: 'start', id: 'r', model: 'm', createdAt: 1 };
const finish: FinishEvent = { type: 'finish', reason: 'stop', usage: { outputTokens: 9 } };
const text = (block: number, value: string, tokens?: number): GenerationEvent => ({
  type: 'text-delta',
  block,
  text: value,
  ...(tokens !== undefined && { tokens }),
});

describe('events add up to', () => {
  it('the parts of the answer, in order', () => {
    const generation = collect([
      { ...start, extensions: { openai: { system_fingerprint: 'f' } } },
      { type: 'reasoning-delta', block: 0, text: 'hm', tokens: 1 },
      { type: 'reasoning-delta', block: 0, text: '…' },
      text(1, 'Look: '),
      text(1, 'rain.'),
      { type: 'tool-call-start', block: 2, id: 'c', name: 'weather' },
      { type: 'tool-call-delta', block: 2, arguments: '{"city":' },
      { type: 'tool-call-delta', block: 2, arguments: '"Rome"}' },
      { type: 'tool-call-end', block: 2 },
      { type: 'opaque', block: 3, format: 'anthropic', value: { type: 'search' } },
      finish,
    ]);
    expect(generation).toEqual({
      id: 'r',
      model: 'm',
      createdAt: 1,
      extensions: { openai: { system_fingerprint: 'f' } },
      content: [
        { type: 'reasoning', text: 'hm…' },
        { type: 'text', text: 'Look: rain.' },
        { type: 'tool-call', id: 'c', name: 'weather', arguments: '{"city":"Rome"}' },
        { type: 'opaque', format: 'anthropic', value: { type: 'search' } },
      ],
      finish,
    });
  });

  it('as many parts as there were blocks, even if adjacent blocks are of the same kind', () => {
    expect(collect([start, text(0, 'a'), text(1, 'b'), finish]).content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
  });

  it('an empty answer when nothing was said', () => {
    expect(collect([start, finish])).toMatchObject({ content: [], finish });
  });

  it('the same answer however the text was cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (pieces) => {
        const events = pieces.map((piece) => text(0, piece));
        expect(collect([start, ...events, finish]).content).toEqual([
          { type: 'text', text: pieces.join('') },
        ]);
      }),
    );
  });

  it('the whole text of many deltas, at whatever point it is read', () => {
    const collector = new Collector();
    const texts: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      collector.push(text(0, `${index},`));
      texts.push(`${index},`);
      if (index % 7 === 0) expect(collector.content).toEqual([{ type: 'text', text: texts.join('') }]);
    }
    collector.push({ type: 'tool-call-start', block: 1, id: 'c', name: 'f' });
    for (const digit of '1234567890'.repeat(5))
      collector.push({ type: 'tool-call-delta', block: 1, arguments: digit });
    collector.push(text(2, 'end'));
    expect(collector.content).toEqual([
      { type: 'text', text: texts.join('') },
      { type: 'tool-call', id: 'c', name: 'f', arguments: '1234567890'.repeat(5) },
      { type: 'text', text: 'end' },
    ]);
  });

  it('log probabilities in order, and none where none were reported', () => {
    const delta = (value: number): GenerationEvent => ({
      type: 'text-delta',
      block: 0,
      text: 'x',
      logprobs: [value],
    });
    expect(collect([start, delta(1), delta(2), finish]).logprobs).toEqual([1, 2]);
    expect(collect([start, text(0, 'a'), finish])).not.toHaveProperty('logprobs');
  });

  it('blocks with their annotations: signatures, citations, a call’s own fields', () => {
    const generation = collect([
      start,
      text(0, 'a'),
      { type: 'block-annotation', block: 0, extensions: { anthropic: { citations: [1] } } },
      { type: 'block-annotation', block: 0, extensions: { anthropic: { citations: [2] } } },
      { type: 'block-annotation', block: 7, extensions: { anthropic: { lost: true } } },
      { type: 'tool-call-start', block: 1, id: 'c', name: 'f', extensions: { gemini: { a: 1 } } },
      { type: 'tool-call-end', block: 1, extensions: { gemini: { signature: 's' } } },
      finish,
    ]);
    expect(generation.content.map((part) => ('extensions' in part ? part.extensions : undefined))).toEqual([
      { anthropic: { citations: [1, 2] } },
      { gemini: { a: 1, signature: 's' } },
    ]);
  });

  it('an answer without the opaque events that belong to no block', () => {
    expect(collect([start, { type: 'opaque', format: 'openai', value: 1 }, finish]).content).toEqual([]);
  });

  it('the tokens that were counted, while the answer grows', () => {
    const collector = new Collector();
    for (const event of [start, text(0, 'a', 2), text(0, 'b'), text(0, 'c', 3)]) collector.push(event);
    collector.push({ type: 'tool-call-start', block: 1, id: 'c', name: 'f' });
    collector.push({ type: 'tool-call-delta', block: 1, arguments: '{}', tokens: 4 });
    collector.push({ type: 'opaque', block: 2, format: 'gemini', value: {}, tokens: 1290 });
    expect([collector.outputTokens, collector.content.length]).toEqual([1299, 3]);
  });
});

describe('a generation that failed', () => {
  it('throws the error that ended it', () => {
    const error = { kind: 'rate-limited', message: 'too much', retryAfterMs: 5, retryable: true } as const;
    const thrown = catchError(() => collect([start, text(0, 'a'), { type: 'error', error }]));
    expect(thrown?.info).toEqual(error);
  });

  it('throws an upstream failure if it has no end or no beginning', () => {
    expect(() => collect([start, text(0, 'a')])).toThrow('the generation has no end');
    expect(() => collect([])).toThrow('the generation has no end');
    expect(() => collect([finish])).toThrow('the generation has no end');
  });
});

function catchError(run: () => unknown): SluiceError | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  return undefined;
}
