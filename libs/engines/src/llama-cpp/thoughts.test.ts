import { collect, findGrammarError, type ReasoningEffort } from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import type { GenerationRun } from '../engine.ts';
import { runOf, textOf } from '../test-runs.ts';
import { ask, TestModels, upTo } from './test-models.ts';

const models = new TestModels();

/** Like the templates of models that always think: the answer begins with an open thought. */
const thinkingTemplate = `
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{%- set content = message.content %}{%- set thought = '' %}
{%- if message.reasoning_content is string %}{%- set thought = message.reasoning_content %}
{%- elif '</think>' in content %}
{%- set thought = content.split('</think>')[0].split('<think>')[-1] %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{- '<|im_start|>assistant\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content + '<|im_end|>\\n' }}
{%- else %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}`;

describe('thoughts of an embedded model', () => {
  const thinks = ['<think>\n', 'Hmm', ', well', '\n</think>\n\n', 'So', ' it is', endOfTurn];

  it('are a block of their own', async () => {
    const engine = await models.start(thinks, { chatWrapper: 'qwen' });
    const events = await runOf(engine, ask());
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events).content).toMatchObject([
      { type: 'reasoning', text: 'Hmm, well' },
      { type: 'text', text: 'So it is' },
    ]);
  });

  it('are counted, even if the answer was lost in between', async () => {
    const engine = await models.start(thinks, { chatWrapper: 'qwen' });
    const usageOf = async (options: Partial<GenerationRun> = {}) =>
      collect(await runOf(engine, ask(), options)).finish.usage;
    const usage = await usageOf();
    expect(usage.reasoningTokens).toBe(2);
    const resume = {
      content: [
        { type: 'reasoning' as const, text: 'Hmm, well' },
        { type: 'text' as const, text: 'So' },
      ],
      outputTokens: (usage.outputTokens ?? 0) - 1,
    };
    expect(await usageOf({ resume })).toMatchObject({ outputTokens: usage.outputTokens, reasoningTokens: 2 });
    expect(await usageOf({ resume: { ...resume, outputTokens: 1 } })).toMatchObject({ reasoningTokens: 1 });
  });

  it('are not counted if there are none', async () => {
    const engine = await models.start(['So', endOfTurn], { chatWrapper: 'qwen' });
    expect(collect(await runOf(engine, ask())).finish.usage).not.toHaveProperty('reasoningTokens');
  });

  it('are not generated if none are wanted', async () => {
    const engine = await models.start(thinks, { chatWrapper: 'qwen' });
    const events = await runOf(engine, { ...upTo(10), reasoning: { effort: 'none' } });
    expect(collect(events).content.map((part) => part.type)).not.toContain('reasoning');
  });
});

describe('a model that always thinks', () => {
  it('thinks before it answers', async () => {
    const engine = await models.start(['Hmm', '\n</think>\n\n', 'So', endOfTurn], {}, thinkingTemplate);
    expect(collect(await runOf(engine, ask())).content).toMatchObject([
      { type: 'reasoning', text: 'Hmm' },
      { type: 'text', text: 'So' },
    ]);
  });

  it('does not think if no thinking is wanted', async () => {
    const engine = await models.start(['So', ' it is', endOfTurn], {}, thinkingTemplate);
    const events = await runOf(engine, { ...upTo(10), reasoning: { effort: 'none' } });
    expect(collect(events).content).toMatchObject([{ type: 'text', text: 'So it is' }]);
  });

  it('answers JSON without a thought, which would have to be JSON as well', async () => {
    const engine = await models.start(['Hmm', endOfTurn], {}, thinkingTemplate);
    const events = await runOf(engine, ask({ output: { type: 'json', schema: { const: 'calm' } } }));
    expect(collect(events).content.map(({ type }) => type)).toEqual(['text']);
    expect(JSON.parse(textOf(events))).toBe('calm');
  });
});

it('tells gpt-oss how hard to think', async () => {
  const engine = await models.start(['So', endOfTurn], { chatWrapper: 'harmony' });
  const inputTokens = async (effort?: ReasoningEffort) =>
    collect(await runOf(engine, { ...upTo(1), ...(effort && { reasoning: { effort } }) })).finish.usage
      .inputTokens ?? 0;
  // Each character is a token.
  const usual = await inputTokens();
  expect((await inputTokens('low')) - usual).toBe('low'.length - 'medium'.length);
  expect((await inputTokens('high')) - usual).toBe('high'.length - 'medium'.length);
  expect((await inputTokens('minimal')) - usual).toBe('low'.length - 'medium'.length);
});
