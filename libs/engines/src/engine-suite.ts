import {
  collect,
  type FunctionTool,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  isContent,
  isTerminal,
} from '@sluice/canonical';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, GenerationRun } from './engine.ts';
import { referenceText } from './simulated/reference.ts';

/** An engine that is not started yet, in front of (or being) a model that understands `[[sim …]]`. */
export interface EngineSubject {
  engine: Engine;
  close(): Promise<void>;
}

/** A request whose only message is this text. */
export function askFor(text: string, rest: Partial<InferenceRequest> = {}): InferenceRequest {
  return {
    model: 'sim',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    sampling: {},
    ...rest,
  };
}

/** One run of an engine and everything that it emitted. */
export interface Recording {
  events: GenerationEvent[];
  controller: AbortController;
  done: Promise<void>;
}

/** Starts a run; `onEvent` sees what was emitted so far, after each event, and may abort it by the controller. */
export function record(
  engine: Engine,
  request: InferenceRequest,
  {
    onEvent,
    ...options
  }: Partial<GenerationRun> & {
    onEvent?: (events: readonly GenerationEvent[], controller: AbortController) => void;
  } = {},
): Recording {
  const controller = new AbortController();
  const events: GenerationEvent[] = [];
  const emit = (event: GenerationEvent) => {
    events.push(event);
    onEvent?.(events, controller);
  };
  const done = engine.generate(request, {
    id: 'run1',
    backendModel: 'sim',
    signal: controller.signal,
    emit,
    ...options,
  });
  return { events, controller, done };
}

/** All events of a run that is left alone. */
export async function runOf(
  engine: Engine,
  request: InferenceRequest,
  options: Partial<GenerationRun> = {},
): Promise<GenerationEvent[]> {
  const { events, done } = record(engine, request, options);
  await done;
  return events;
}

/** The text of all text deltas. */
export function textOf(events: readonly GenerationEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

const tool: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const secondTool: FunctionTool = { ...tool, name: 'get_time' };
const fast = 'ttft=0 gap=0';

/** What every engine has to keep, whatever it runs on. Registers its tests with the runner. */
export function describeEngine(name: string, create: () => Promise<EngineSubject>): void {
  describe(`the contract of engines, kept by ${name}`, () => {
    let subject: EngineSubject;
    const engine = () => subject.engine;

    beforeAll(async () => {
      subject = await create();
      await engine().start(new AbortController().signal);
    });
    afterAll(async () => {
      await engine().stop();
      await subject.close();
    });

    describeAnswers(engine);
    describeAborts(engine);
    describeLimits(engine);
    describeFailures(engine);
    describeResume(engine);
  });
}

function describeAnswers(engine: () => Engine): void {
  it('is ready once it has started', () => expect(engine().isReady()).toBe(true));

  it('emits a legal, complete answer with its id, model and usage', async () => {
    const events = await runOf(engine(), askFor(`[[sim tokens=30 seed=3 ${fast}]]`));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(referenceText(3, 0, 30));
    expect(events[0]).toMatchObject({ type: 'start', id: 'run1', model: 'sim' });
    const { finish } = collect(events);
    expect(finish).toMatchObject({ reason: 'stop', usage: { outputTokens: 30 } });
    expect(finish.usage.inputTokens).toBeGreaterThan(0);
  });

  it('emits an empty answer as a start and a finish', async () => {
    const events = await runOf(engine(), askFor('[[sim tokens=0]]'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events).content).toEqual([]);
  });

  it('emits reasoning and text as blocks of their own', async () => {
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

  it('emits JSON where a schema asks for it', async () => {
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

  it('keeps concurrent generations apart', async () => {
    const seeds = Array.from({ length: 24 }, (_value, index) => index + 1);
    const texts = seeds.map(async (seed) =>
      textOf(await runOf(engine(), askFor(`[[sim tokens=60 seed=${seed} ttft=0 gap=1ms]]`))),
    );
    expect(await Promise.all(texts)).toEqual(seeds.map((seed) => referenceText(seed, 0, 60)));
  });
}

function describeAborts(engine: () => Engine): void {
  it('emits nothing where it is aborted beforehand', async () => {
    const events = await runOf(engine(), askFor('[[sim tokens=3]]'), { signal: AbortSignal.abort() });
    expect(events).toEqual([]);
  });

  it.each([
    ['between tokens', '[[sim tokens=100000 ttft=0 gap=1ms]]'],
    ['at full speed', '[[sim tokens=100000 ttft=0 gap=0]]'],
    ['in a stall', '[[sim tokens=100000 ttft=0 gap=0 stall@5]]'],
  ])('emits nothing after an abort %s', async (_place, prompt) => {
    const { events, done } = record(engine(), askFor(prompt), {
      onEvent(events, controller) {
        if (textOf(events).split(' ').length >= 5) controller.abort();
      },
    });
    await done;
    const seen = events.length;
    // Another generation runs from its beginning to its end; the aborted one had every chance to speak.
    await runOf(engine(), askFor('[[sim tokens=20 ttft=2ms gap=1ms]]'));
    expect(events).toHaveLength(seen);
    expect(events.some(isTerminal)).toBe(false);
    expect(textOf(events).split(' ')).toHaveLength(5);
  });

  it('can be aborted before its first event', async () => {
    const { events, controller, done } = record(engine(), askFor('[[sim tokens=3 ttft=3600s]]'));
    controller.abort();
    await done;
    expect(events).toEqual([]);
  });
}

function describeLimits(engine: () => Engine): void {
  it('stops at the limit of the request', async () => {
    const request = askFor(`[[sim tokens=30 seed=3 ${fast}]]`, { sampling: { maxOutputTokens: 7 } });
    const events = await runOf(engine(), request);
    expect(textOf(events)).toBe(referenceText(3, 0, 7));
    expect(collect(events).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 7 } });
  });

  it('stops at the limit of the model where the request has none or asks for more', async () => {
    for (const sampling of [{}, { maxOutputTokens: 20 }]) {
      const events = await runOf(engine(), askFor(`[[sim tokens=30 seed=3 ${fast}]]`, { sampling }), {
        maxOutputTokens: 7,
      });
      expect(textOf(events)).toBe(referenceText(3, 0, 7));
    }
  });

  it('ends before a stop string', async () => {
    const full = referenceText(3, 0, 30);
    const stop = full.slice(40, 52);
    const events = await runOf(
      engine(),
      askFor(`[[sim tokens=30 seed=3 ${fast}]]`, { sampling: { stopSequences: [stop] } }),
    );
    expect(textOf(events)).toBe(full.slice(0, full.indexOf(stop)));
    expect(collect(events).finish.reason).toBe('stop');
  });
}

function describeFailures(engine: () => Engine): void {
  it.each([
    ['400', 'invalid-request'],
    ['429', 'rate-limited'],
    ['503', 'unavailable'],
  ])('reports a failure %s before the answer as a bare error', async (status, kind) => {
    const events = await runOf(engine(), askFor(`[[sim error=${status} ttft=0]]`));
    expect(events).toMatchObject([{ type: 'error', error: { kind, message: expect.any(String) } }]);
  });

  it('reports a failure in the middle after what was said', async () => {
    const events = await runOf(engine(), askFor('[[sim tokens=9 seed=3 error=502@4 ttft=0 gap=0]]'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(referenceText(3, 0, 4));
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream-failed' } });
  });
}

function describeResume(engine: () => Engine): void {
  it('goes on after what was delivered, or says that it cannot', async () => {
    const request = askFor(`[[sim tokens=20 seed=3 ${fast}]]`);
    const whole = await runOf(engine(), request);
    const content = [{ type: 'text' as const, text: textOf(whole.filter(isContent).slice(0, 8)) }];
    const events = await runOf(engine(), request, { resume: { content, outputTokens: 8 } });
    if (engine().resume === 'none') {
      expect(events).toMatchObject([{ type: 'error', error: { kind: 'upstream-failed' } }]);
      return;
    }
    expect(findGrammarError(events)).toBeUndefined();
    expect(content[0]?.text + textOf(events)).toBe(referenceText(3, 0, 20));
    expect(collect(events).finish.usage).toEqual(collect(whole).finish.usage);
  });
}
