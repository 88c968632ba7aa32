import { collect, findGrammarError } from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { runOf, textOf } from '../test-runs.ts';
import { ask, greedy, story, TestModels, told } from './test-models.ts';

const models = new TestModels();
const stoppingAt = (stopSequences: string[], rest: object = {}) =>
  ask({ sampling: { ...greedy, stopSequences, ...rest } });

describe('a stop string of an embedded model', () => {
  it.each([
    [' there was', 'Once upon a time', 6],
    ['pon a t', 'Once u', 4],
    ['O', '', 1],
  ])('%j ends the answer and is named', async (stop, text, outputTokens) => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(engine, stoppingAt(['never', stop]));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(text);
    expect(collect(events).finish).toMatchObject({
      reason: 'stop',
      stopSequence: stop,
      usage: { outputTokens },
    });
  });

  it('holds back nothing that did not become one, at a limit and at the end', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const limited = await runOf(engine, stoppingAt([' there was no'], { maxOutputTokens: 5 }));
    expect(textOf(limited)).toBe('Once upon a time there');
    expect(collect(limited).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 5 } });
    const whole = await runOf(engine, stoppingAt(['token. And']));
    expect(textOf(whole)).toBe(told);
    expect(collect(whole).finish.stopSequence).toBeUndefined();
  });

  it('returns its slot to a generation that says the same again', async () => {
    const engine = await models.start([...story, endOfTurn], { slots: 1 });
    await runOf(engine, stoppingAt([' a time']));
    const again = await runOf(engine, ask());
    expect(textOf(again)).toBe(told);
    expect(collect(again).finish.usage.cacheReadTokens).toBeGreaterThan(10);
  });

  it('does not end a thought, but ends the text after it', async () => {
    const said = ['<think>\n', 'So', ' well', '\n</think>\n\n', 'It', ' is', ' so', '.', endOfTurn];
    const engine = await models.start(said, { chatWrapper: 'qwen' });
    const { content, finish } = collect(await runOf(engine, stoppingAt(['well', ' so'])));
    expect(content).toMatchObject([
      { type: 'reasoning', text: 'So well' },
      { type: 'text', text: 'It is' },
    ]);
    expect(finish.stopSequence).toBe(' so');
  });
});
