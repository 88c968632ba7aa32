import {
  collect,
  type FunctionTool,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  isContent,
  isTerminal,
  type Sampling,
} from '@sluice/canonical';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, GenerationRun } from './engine.ts';
import { referenceText } from './simulated/reference.ts';

/** An engine that is not started yet, and what its model says. */
export interface EngineSubject {
  engine: Engine;
  tale: Tale;
  close(): Promise<void>;
}

/** Something that a model can be made to say, token by token and always the same. */
export interface Tale {
  /** Asks for so many tokens of it. */
  ask(tokens: number, sampling?: Sampling): InferenceRequest;
  /** The first tokens of it; at least 60 are known. */
  text(tokens: number): string;
}

/** The tale of a model that understands `[[sim …]]`. */
export const scriptedTale: Tale = {
  ask: (tokens, sampling = {}) => askFor(`[[sim tokens=${tokens} seed=3 ttft=0 gap=1ms]]`, { sampling }),
  text: (tokens) => referenceText(3, 0, tokens),
};

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

/**
 * What every engine has to keep, whatever it runs on. Registers its tests with the runner. `isScripted` says that the
 * model understands `[[sim …]]`: then reasoning, calls, JSON and failures are tried, too.
 */
export function describeEngine(
  name: string,
  create: () => Promise<EngineSubject>,
  { isScripted }: { isScripted: boolean },
): void {
  describe(`the contract of engines, kept by ${name}`, () => {
    let subject: EngineSubject;
    const engine = () => subject.engine;
    const tale = (): Tale => subject.tale;

    beforeAll(async () => {
      subject = await create();
      await engine().start(new AbortController().signal);
    });
    afterAll(async () => {
      await engine().stop();
      await subject.close();
    });

    describeTale(engine, tale);
    describeAborts(engine, tale);
    describeResume(engine, tale);
    if (!isScripted) return;
    describeScripts(engine);
    describeScriptedAborts(engine);
    describeFailures(engine);
  });
}

function describeTale(engine: () => Engine, tale: () => Tale): void {
  it('is ready once it has started', () => expect(engine().isReady()).toBe(true));

  it('emits a legal, complete answer with its id, model and usage', async () => {
    const events = await runOf(engine(), tale().ask(30));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(tale().text(30));
    expect(events[0]).toMatchObject({ type: 'start', id: 'run1', model: 'sim' });
    const { usage } = collect(events).finish;
    expect(usage.outputTokens).toBe(30);
    expect(usage.inputTokens).toBeGreaterThan(0);
  });

  it('keeps concurrent generations apart', async () => {
    const lengths = Array.from({ length: 24 }, (_value, index) => 60 - index);
    const texts = lengths.map(async (tokens) => textOf(await runOf(engine(), tale().ask(tokens))));
    expect(await Promise.all(texts)).toEqual(lengths.map((tokens) => tale().text(tokens)));
  });

  it('stops at the limit of the request', async () => {
    const events = await runOf(engine(), tale().ask(30, { maxOutputTokens: 7 }));
    expect(textOf(events)).toBe(tale().text(7));
    expect(collect(events).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 7 } });
  });

  it('stops at the limit of the model where the request has none or asks for more', async () => {
    for (const sampling of [{}, { maxOutputTokens: 20 }]) {
      const events = await runOf(engine(), tale().ask(30, sampling), { maxOutputTokens: 7 });
      expect(textOf(events)).toBe(tale().text(7));
    }
  });

  it('ends before a stop string', async () => {
    const full = tale().text(30);
    const stop = full.slice(40, 52);
    const events = await runOf(engine(), tale().ask(30, { stopSequences: [stop] }));
    expect(textOf(events)).toBe(full.slice(0, full.indexOf(stop)));
    expect(collect(events).finish).toMatchObject({ reason: 'stop' });
  });
}

function describeAborts(engine: () => Engine, tale: () => Tale): void {
  it('emits nothing where it is aborted beforehand', async () => {
    expect(await runOf(engine(), tale().ask(3), { signal: AbortSignal.abort() })).toEqual([]);
  });

  it('emits nothing after an abort between tokens', async () => {
    const { events, done } = record(engine(), tale().ask(60), {
      onEvent(seen, controller) {
        if (seen.filter(isContent).length === 5) controller.abort();
      },
    });
    await done;
    await expectSilence(engine(), events, tale().ask(20));
    expect(textOf(events)).toBe(tale().text(5));
  });

  it('emits nothing after an abort that comes at once', async () => {
    const { events, controller, done } = record(engine(), tale().ask(60));
    const seen = events.length;
    controller.abort();
    await done;
    await expectSilence(engine(), events, tale().ask(20));
    expect(events).toHaveLength(seen);
  });
}

/** Another generation runs from its beginning to its end: the aborted one had every chance to speak. */
async function expectSilence(
  engine: Engine,
  events: readonly GenerationEvent[],
  next: InferenceRequest,
): Promise<void> {
  const seen = events.length;
  await runOf(engine, next);
  expect(events).toHaveLength(seen);
  expect(events.some(isTerminal)).toBe(false);
}

function describeResume(engine: () => Engine, tale: () => Tale): void {
  it('goes on after what was delivered, or says that it cannot', async () => {
    const whole = await runOf(engine(), tale().ask(20));
    const content = [{ type: 'text' as const, text: tale().text(8) }];
    const events = await runOf(engine(), tale().ask(20), { resume: { content, outputTokens: 8 } });
    if (engine().resume === 'none') {
      expect(events).toMatchObject([{ type: 'error', error: { kind: 'upstream-failed' } }]);
      return;
    }
    expect(findGrammarError(events)).toBeUndefined();
    expect(content[0]?.text + textOf(events)).toBe(tale().text(20));
    const { inputTokens, outputTokens } = collect(whole).finish.usage;
    expect(collect(events).finish.usage).toMatchObject({ inputTokens, outputTokens });
  });

  it('starts afresh where nothing was delivered', async () => {
    const events = await runOf(engine(), tale().ask(8), { resume: { content: [], outputTokens: 0 } });
    expect(textOf(events)).toBe(tale().text(8));
  });
}

function describeScripts(engine: () => Engine): void {
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
}

function describeScriptedAborts(engine: () => Engine): void {
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
