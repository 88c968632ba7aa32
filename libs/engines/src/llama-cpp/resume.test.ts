import {
  type AssistantPart,
  collect,
  findGrammarError,
  type InferenceRequest,
  isContent,
} from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../test-runs.ts';
import { ask, greedy, story, TestModels, upTo } from './test-models.ts';

const models = new TestModels();

describe('a lost answer of an embedded model', () => {
  const text = (said: string) => ({ type: 'text' as const, text: said });

  it.each(['auto', 'jinjaTemplate'])(
    'continues after what was delivered, written as %s',
    async (chatWrapper) => {
      const engine = await models.start([...story, endOfTurn], { chatWrapper });
      const whole = collect(await runOf(engine, ask()));
      const events = await runOf(engine, ask(), {
        resume: { content: [text('Once upon a time')], outputTokens: 4 },
      });
      expect(findGrammarError(events)).toBeUndefined();
      expect(textOf(events)).toBe(' there was one token.');
      const { usage } = collect(events).finish;
      expect(usage).toMatchObject({
        inputTokens: whole.finish.usage.inputTokens,
        outputTokens: whole.finish.usage.outputTokens,
      });
    },
  );

  it.each(['auto', 'jinjaTemplate'])(
    'continues where the client left off, written as %s',
    async (chatWrapper) => {
      const engine = await models.start([...story, endOfTurn], { chatWrapper });
      const request = ask();
      const messages = [...request.messages, { role: 'assistant' as const, content: [text('Once upon')] }];
      expect(textOf(await runOf(engine, { ...request, messages }))).toBe(' a time there was one token.');
    },
  );

  it('keeps its limit', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const limited = upTo(5);
    const content = [text('Once upon a time')];
    const rest = await runOf(engine, limited, { resume: { content, outputTokens: 4 } });
    expect(textOf(rest)).toBe(' there');
    const end = await runOf(engine, limited, { resume: { content, outputTokens: 5 } });
    expect(end.map(({ type }) => type)).toEqual(['start', 'finish']);
    expect(collect(end).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 5 } });
  });

  it('ends if it has filled the context', async () => {
    const words = Array.from({ length: 150 }, (_value, index) => ` word${index}`);
    const engine = await models.start(words, { contextTokens: 256 });
    const request = askFor('x'.repeat(150), { sampling: greedy });
    const whole = await runOf(engine, request);
    const { outputTokens = 0 } = collect(whole).finish.usage;
    const resume = { content: [text(textOf(whole))], outputTokens };
    const end = await runOf(engine, request, { resume });
    expect(end.map(({ type }) => type)).toEqual(['start', 'finish']);
    expect(collect(end).finish).toMatchObject({ reason: 'length', usage: { outputTokens } });
  });

  it('continues after its thoughts', async () => {
    const engine = await models.start(['Hmm', ', well', 'So', ' it is', endOfTurn], { chatWrapper: 'qwen' });
    const content = [{ type: 'reasoning' as const, text: 'Hmm, well' }, text('So')];
    const events = await runOf(engine, ask(), { resume: { content, outputTokens: 3 } });
    expect(events.filter(isContent)).toMatchObject([{ type: 'text-delta', block: 1, text: ' it is' }]);
  });

  it.each<[string, AssistantPart[], Partial<InferenceRequest>]>([
    ['a call', [{ type: 'tool-call', id: 'c', name: 'f', arguments: '{' }], {}],
    ['JSON', [text('{')], { output: { type: 'json' } }],
  ])('cannot be continued inside of %s', async (_what, content, rest) => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(engine, ask(rest), { resume: { content, outputTokens: 1 } });
    expect(events).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed', detail: 'worker-lost' } },
    ]);
  });
});
