import { describe, expect, test } from 'vitest';
import { encodeOwnThinking, encodeThinking } from './thinking.ts';

const own = { model: 'claude-opus-5-5', isForeign: false, maxTokens: 50_000, isToolForced: false };
const foreign = { ...own, isForeign: true };
const older = { model: 'claude-sonnet-4-5' };

describe('a budget', () => {
  test('goes with an effort where both are said', () => {
    expect(encodeThinking({ budgetTokens: 5_000, effort: 'low' }, { ...own, ...older })).toStrictEqual({
      thinking: { type: 'enabled', budget_tokens: 5_000 },
      effort: 'low',
    });
  });

  test('of another format becomes the nearest effort for models that know no budget', () => {
    expect(encodeThinking({ budgetTokens: 1_024 }, foreign)).toStrictEqual({
      thinking: { type: 'adaptive', display: 'summarized' },
      effort: 'low',
    });
    expect(encodeThinking({ budgetTokens: 1_024, effort: 'max' }, foreign)).toStrictEqual({
      thinking: { type: 'adaptive', display: 'summarized' },
      effort: 'max',
    });
  });

  test('of another format is left out where it would be refused', () => {
    const said = (more: object) =>
      encodeThinking({ budgetTokens: 2_000 }, { ...foreign, ...older, ...more }).thinking?.budget_tokens;
    expect(said({ maxTokens: 1_024 })).toBeUndefined();
    expect(said({ maxTokens: 1_025 })).toBe(1_024);
    expect(said({ isToolForced: true })).toBeUndefined();
  });

  test('of this format is the client’s own matter there', () => {
    const said = (more: object) =>
      encodeThinking({ budgetTokens: 2_000 }, { ...own, ...older, ...more }).thinking?.budget_tokens;
    expect(said({ maxTokens: 1_000 })).toBe(1_024);
    expect(said({ isToolForced: true })).toBe(2_000);
  });

  test('is left out, but not its effort, amid calls without signed thinking', () => {
    const midLoop = { ...own, ...older, isMidLoop: true };
    expect(encodeThinking({ budgetTokens: 5_000, effort: 'low' }, midLoop)).toStrictEqual({ effort: 'low' });
    expect(encodeThinking({ budgetTokens: 5_000 }, midLoop)).toStrictEqual({});
    expect(encodeThinking({ effort: 'low' }, midLoop)).toStrictEqual({});
  });

  test('that a client wrote among other words is kept below the limit of the answer', () => {
    const said = { type: 'enabled', budget_tokens: 9_000, fresh: 1 };
    const asked = (written: object) =>
      encodeOwnThinking({ ...said, ...written }, { budgetTokens: 9_000 }, { ...own, maxTokens: 4_000 });
    expect(asked({})).toStrictEqual({ thinking: { ...said, budget_tokens: 3_999 } });
    expect(asked({ budget_tokens: 'much' })).toStrictEqual({ thinking: { ...said, budget_tokens: 'much' } });
  });
});

describe('an effort', () => {
  test('between high and max is the next higher for models that lack it, if its client cannot know', () => {
    const said = (target: typeof own, model: string) =>
      encodeThinking({ effort: 'xhigh' }, { ...target, model }).effort;
    expect(said(foreign, 'claude-opus-4-6')).toBe('max');
    expect(said(own, 'claude-opus-4-6')).toBe('xhigh');
    expect(said(foreign, 'claude-opus-4-7')).toBe('xhigh');
    expect(encodeThinking({ effort: 'high' }, { ...foreign, model: 'claude-opus-4-6' }).effort).toBe('high');
  });

  test('of none cannot be asked of a model that always thinks, by a client that cannot know', () => {
    const always = { model: 'claude-mythos-5' };
    expect(encodeThinking({ effort: 'none' }, { ...foreign, ...always })).toStrictEqual({ effort: 'low' });
    expect(encodeThinking({ effort: 'none' }, { ...own, ...always })).toStrictEqual({
      thinking: { type: 'disabled' },
    });
  });

  test('that a client wrote alone stays alone', () => {
    expect(encodeOwnThinking(null, { effort: 'low' }, own)).toStrictEqual({ effort: 'low' });
    expect(encodeOwnThinking(null, { effort: 'none' }, own)).toStrictEqual({});
    expect(encodeOwnThinking(null, {}, own)).toStrictEqual({});
    expect(encodeOwnThinking(null, undefined, own)).toStrictEqual({});
  });
});
