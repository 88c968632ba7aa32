import type { JsonObject, Reasoning } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { decodeThinking, encodeThinking, levelOf } from './thinking.ts';

const encode = (model: string, reasoning: Reasoning | undefined, isForeign = true): JsonObject =>
  encodeThinking(
    { model, messages: [], sampling: {}, ...(reasoning && { reasoning }) },
    { model, isForeign },
  );

const hidden = (config: JsonObject): JsonObject => ({ includeThoughts: false, ...config });
const shown = (config: JsonObject): JsonObject => ({ includeThoughts: true, ...config });

describe('what a client of another format asks of thinking', () => {
  it.each<[string, Reasoning, JsonObject]>([
    // The third generation takes a level, and cannot stop.
    ['gemini-3-pro-preview', { effort: 'none' }, hidden({ thinkingLevel: 'LOW' })],
    ['gemini-3-pro-preview', { effort: 'minimal' }, shown({ thinkingLevel: 'LOW' })],
    ['gemini-3-pro-preview', { effort: 'medium', visible: false }, hidden({ thinkingLevel: 'MEDIUM' })],
    ['gemini-3-pro-preview', { effort: 'xhigh' }, shown({ thinkingLevel: 'HIGH' })],
    ['gemini-3-pro-preview', { effort: 'max' }, shown({ thinkingLevel: 'HIGH' })],
    ['gemini-3-pro-preview', { budgetTokens: 0 }, shown({ thinkingLevel: 'LOW' })],
    ['gemini-3-pro-preview', { budgetTokens: 4096 }, shown({ thinkingLevel: 'LOW' })],
    ['gemini-3-pro-preview', { budgetTokens: 8000 }, shown({ thinkingLevel: 'MEDIUM' })],
    ['gemini-3-pro-preview', { budgetTokens: 30_000 }, shown({ thinkingLevel: 'HIGH' })],
    ['gemini-3-pro-preview', { visible: true }, shown({})],
    ['gemini-10-pro', { effort: 'none' }, hidden({ thinkingLevel: 'LOW' })],
    ['gemini-pro-latest', { effort: 'none' }, hidden({ thinkingLevel: 'LOW' })],
    ['gemini-3-flash-preview', { effort: 'none' }, hidden({ thinkingLevel: 'MINIMAL' })],
    ['gemini-3-flash-preview', { effort: 'minimal' }, shown({ thinkingLevel: 'MINIMAL' })],
    ['gemini-3.5-flash', { effort: 'minimal' }, shown({ thinkingLevel: 'MINIMAL' })],
    ['gemini-3.1-flash-lite', { effort: 'minimal' }, shown({ thinkingLevel: 'MINIMAL' })],
    ['gemini-3.12-flash-lite', { effort: 'minimal' }, shown({ thinkingLevel: 'MINIMAL' })],
    ['gemini-flash-lite-latest', { effort: 'minimal' }, shown({ thinkingLevel: 'MINIMAL' })],
    ['gemini-flash-latest', { effort: 'minimal' }, shown({ thinkingLevel: 'LOW' })],
    // Models of 2.5 take a budget within a range of their own.
    ['gemini-2.5-flash', { effort: 'none' }, hidden({ thinkingBudget: 0 })],
    ['gemini-2.5-flash', { budgetTokens: 0 }, shown({ thinkingBudget: 0 })],
    ['gemini-2.5-flash', { effort: 'minimal' }, shown({ thinkingBudget: 1024 })],
    ['gemini-2.5-flash', { effort: 'medium' }, shown({ thinkingBudget: 8192 })],
    ['gemini-2.5-flash', { effort: 'max' }, shown({ thinkingBudget: 24_576 })],
    ['gemini-2.5-flash', { budgetTokens: 1 }, shown({ thinkingBudget: 512 })],
    ['gemini-2.5-flash', { budgetTokens: 99_999 }, shown({ thinkingBudget: 24_576 })],
    ['gemini-2.5-flash', { effort: 'low', budgetTokens: 2000 }, shown({ thinkingBudget: 2000 })],
    ['gemini-2.5-flash', { visible: true }, shown({})],
    ['gemini-2.5-pro', { effort: 'none' }, hidden({ thinkingBudget: 128 })],
    ['gemini-2.5-pro', { budgetTokens: 0 }, shown({ thinkingBudget: 128 })],
    ['gemini-2.5-pro', { effort: 'max' }, shown({ thinkingBudget: 32_768 })],
    // Whoever serves another name gets what was asked for.
    ['my-deployment', { effort: 'none' }, hidden({ thinkingBudget: 0 })],
    ['my-deployment', { effort: 'max' }, shown({ thinkingLevel: 'HIGH' })],
    ['my-deployment', { budgetTokens: 5 }, shown({ thinkingBudget: 5 })],
    ['my-deployment', { visible: true }, shown({})],
    // Models that do not think refuse the field.
    ['gemini-2.0-flash', { effort: 'high' }, {}],
    ['gemini-1.5-pro', { effort: 'high' }, {}],
    ['gemini-2.5-flash-image', { effort: 'high' }, {}],
  ])('%s, %j: %j', (model, reasoning, config) => {
    expect(encode(model, reasoning)).toEqual(config);
  });

  it('is nothing where nothing was asked', () => {
    expect(encode('gemini-3-pro-preview', undefined)).toEqual({});
  });
});

it.each<[Reasoning, JsonObject]>([
  [{ effort: 'max' }, shown({ thinkingLevel: 'XHIGH' })],
  [{ effort: 'none' }, hidden({ thinkingBudget: 0 })],
  [{ budgetTokens: 1 }, shown({ thinkingBudget: 1 })],
])('a client of this format gets what it asked of any model: %j', (reasoning, config) => {
  for (const model of ['gemini-3-pro-preview', 'gemini-2.5-pro', 'gemini-2.0-flash'])
    expect(encode(model, reasoning, false)).toEqual(config);
});

it.each([
  [0, 'MINIMAL'],
  [4096, 'LOW'],
  [4097, 'MEDIUM'],
  [20_000, 'HIGH'],
  [-1, undefined],
])('a budget of %d that a model refuses is the level %s', (budget, level) => {
  expect(levelOf(budget)).toBe(level);
});

it('a budget that leaves the amount to the model is kept as it is', () => {
  const { reasoning, kept } = decodeThinking({ thinkingBudget: -1 });
  expect(reasoning).toEqual({ visible: false });
  expect(kept).toEqual({ thinkingBudget: -1 });
});
