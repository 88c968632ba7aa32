import { collect, type GenerationEvent, type InferenceRequest, type Message } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { SimulatedEngine } from './engine.ts';
import { referenceText } from './reference.ts';

async function run(request: InferenceRequest): Promise<GenerationEvent[]> {
  const engine = new SimulatedEngine({ slots: 1, ttftMs: 0, gapMs: 0 }, quietServices);
  await engine.start();
  return runOf(engine, request);
}

/** A request for twenty tokens, whose first words the client has given. */
function begun(content: Message['content'], rest: Partial<InferenceRequest> = {}): InferenceRequest {
  const request = askFor('[[sim tokens=20 seed=3 ttft=0 gap=0]]', rest);
  const turn = { role: 'assistant', content } as Message;
  return { ...request, messages: [...request.messages, turn], prefill: { path: 'messages[1]' } };
}

const text = (said: string) => [{ type: 'text' as const, text: said }];
const whole = referenceText(3, 0, 20);

describe('an answer of the simulated model that the client has begun', () => {
  it.each([1, 7, whole.length - 1])(
    'continues after %i characters of what the model says',
    async (length) => {
      const events = await run(begun(text(whole.slice(0, length))));
      expect(textOf(events)).toBe(whole.slice(length));
      expect(collect(events).finish).toMatchObject({ reason: 'stop' });
    },
  );

  it('is over if all of it was said', async () => {
    const events = await run(begun(text(whole)));
    expect(events.map(({ type }) => type)).toEqual(['start', 'finish']);
    expect(collect(events).finish).toMatchObject({ reason: 'stop', usage: { outputTokens: 0 } });
  });

  it('follows other words with what the model says anyway', async () => {
    expect(textOf(await run(begun(text('Well,'))))).toBe(whole);
    expect(textOf(await run(begun(text(`${whole} and more`))))).toBe(whole);
  });

  it('counts its limit from after the client’s words', async () => {
    const events = await run(begun(text(referenceText(3, 0, 5)), { sampling: { maxOutputTokens: 4 } }));
    expect(textOf(events)).toBe(referenceText(3, 5, 4));
  });

  it('has no thoughts before it any more', async () => {
    const events = await run(begun(text(whole.slice(0, 7)), { reasoning: { effort: 'high' } }));
    expect(events.some(({ type }) => type === 'reasoning-delta')).toBe(false);
    expect(textOf(events)).toBe(whole.slice(7));
  });

  it('becomes valid JSON together with what the client said of it', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const events = await run(begun(text('{"ci'), { output: { type: 'json', schema } }));
    expect(JSON.parse(`{"ci${textOf(events)}`)).toEqual({ city: expect.any(String) });
  });

  it.each<[string, InferenceRequest]>([
    ['another JSON', begun(text('{"name": '), { output: { type: 'json' } })],
    ['a call', begun([{ type: 'tool-call', id: 'c', name: 'f', arguments: '{}' }])],
  ])('is refused by its path where it is %s', async (_what, request) => {
    expect(await run(request)).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request', param: 'messages[1]' } },
    ]);
  });
});
