import { collect, type FunctionTool, findGrammarError, nothingSpent } from '@sluice/canonical';
import { expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { referenceText } from './simulated/reference.ts';
import { askFor, expectSilence, record, runOf, textOf } from './test-runs.ts';

const tool: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const secondTool: FunctionTool = { ...tool, name: 'get_time' };
const fast = 'ttft=0 gap=0';

/** What an engine must do in front of a model that understands `[[sim …]]`: reasoning, calls, JSON and failures. */
export function describeScripted(engine: () => Engine): void {
  describeAnswers(engine);
  describeAborts(engine);
  describeFailures(engine);
}

function describeAnswers(engine: () => Engine): void {
  it('emits an empty answer as a start and a finish', async () => {
    const events = await runOf(engine(), askFor('[[sim tokens=0]]'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events).content).toEqual([]);
  });

  it('emits reasoning and text as separate blocks', async () => {
    const events = await runOf(engine(), askFor(`[[sim tokens=4 reasoning=5 seed=3 ${fast}]]`));
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events).content).toMatchObject([
      { type: 'reasoning', text: referenceText(4, 0, 5) },
      { type: 'text', text: referenceText(3, 0, 4) },
    ]);
  });

  it('emits parallel calls whole and in order', async () => {
    const request = askFor(`[[sim tool=get_weather,get_time seed=3 ${fast}]]`, { tools: [tool, secondTool] });
    const events = await runOf(engine(), request);
    expect(findGrammarError(events)).toBeUndefined();
    const { content, finish } = collect(events);
    expect(finish.reason).toBe('tool-calls');
    const calls = content.filter((part) => part.type === 'tool-call');
    expect(calls.map((call) => call.name)).toEqual(['get_weather', 'get_time']);
    for (const call of calls) expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String) });
  });

  it('emits JSON if a schema asks for it', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n'],
      additionalProperties: false,
    };
    const events = await runOf(
      engine(),
      askFor('[[sim ttft=0 gap=0]]', { output: { type: 'json', schema, name: 'n' } }),
    );
    expect(JSON.parse(textOf(events))).toEqual({ n: expect.any(Number) });
  });
}

function describeAborts(engine: () => Engine): void {
  it.each([
    ['between tokens', '[[sim tokens=100000 ttft=0 gap=1ms]]'],
    ['at full speed', '[[sim tokens=100000 ttft=0 gap=0]]'],
    ['in a stall', '[[sim tokens=100000 ttft=0 gap=0 stall@5]]'],
  ])('emits nothing after an abort %s, however much is left', async (_place, prompt) => {
    const { events, done } = record(engine(), askFor(prompt), {
      onEvent(events, controller) {
        if (textOf(events).split(' ').length >= 5) controller.abort();
      },
    });
    await done;
    await expectSilence(engine(), events, askFor('[[sim tokens=20 ttft=2ms gap=1ms]]'));
    expect(textOf(events).split(' ')).toHaveLength(5);
  });

  it('can be aborted long before its first event', async () => {
    const { events, controller, done } = record(engine(), askFor('[[sim tokens=3 ttft=3600s]]'));
    controller.abort();
    await done;
    expect(events).toEqual([]);
  });
}

function describeFailures(engine: () => Engine): void {
  it.each([
    ['400', 'invalid-request'],
    ['429', 'rate-limited'],
    ['503', 'unavailable'],
  ])('reports a failure %s before the answer as a bare error that cost nothing', async (status, kind) => {
    const events = await runOf(engine(), askFor(`[[sim error=${status} ttft=0]]`));
    expect(events).toMatchObject([
      { type: 'error', error: { kind, message: expect.any(String) }, usage: nothingSpent },
    ]);
  });

  it('reports a failure in mid-stream after what was said', async () => {
    const events = await runOf(engine(), askFor('[[sim tokens=9 seed=3 error=502@4 ttft=0 gap=0]]'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(referenceText(3, 0, 4));
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream-failed' } });
  });
}
