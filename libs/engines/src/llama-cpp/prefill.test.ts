import { type AssistantPart, collect, type InferenceRequest } from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { runOf, textOf } from '../test-runs.ts';
import { ask, story, TestModels } from './test-models.ts';

const models = new TestModels();
const text = (said: string) => ({ type: 'text' as const, text: said });

/** A request for the story, whose first words the client has given. */
function begun(content: AssistantPart[], rest: Partial<InferenceRequest> = {}): InferenceRequest {
  const request = ask(rest);
  const messages = [...request.messages, { role: 'assistant' as const, content }];
  return { ...request, messages, prefill: { path: 'messages[1]' } };
}

describe('an answer of an embedded model that the client has begun', () => {
  it('is continued', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(engine, begun([text('Once upon'), text(' a time')]));
    expect(textOf(events)).toBe(' there was one token.');
    const { usage } = collect(events).finish;
    expect(usage.outputTokens).toBe(5);
    const fresh = collect(await runOf(engine, ask())).finish.usage;
    expect(usage.inputTokens).toBe(Number(fresh.inputTokens) + 4);
  });

  it('continues after what was delivered when it was lost', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const resume = { content: [text(' a time')], outputTokens: 2 };
    const events = await runOf(engine, begun([text('Once upon')]), { resume });
    expect(textOf(events)).toBe(' there was one token.');
    expect(collect(events).finish.usage.outputTokens).toBe(7);
  });

  it.each<[string, InferenceRequest]>([
    ['a call', begun([{ type: 'tool-call', id: 'c', name: 'f', arguments: '{}' }])],
    ['a thought', begun([{ type: 'reasoning', text: 'Hm' }])],
    ['JSON', begun([text('{')], { output: { type: 'json' } })],
  ])('is refused by its path where it is %s', async (_what, request) => {
    const engine = await models.start([...story, endOfTurn]);
    expect(await runOf(engine, request)).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request', param: 'messages[1]' } },
    ]);
  });
});
