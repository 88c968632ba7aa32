import {
  collect,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  isContent,
  type JsonObject,
  nothingSpent,
  type Sampling,
} from '@sluice/canonical';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { describeScripted } from './scripted-suite.ts';
import { referenceText } from './simulated/reference.ts';
import { askFor, expectSilence, record, runOf, textOf } from './test-runs.ts';

/** An engine that is not started yet, and what its model says. */
export interface EngineSubject {
  engine: Engine;
  tale: Tale;
  close(): Promise<void>;
}

/** Something that a model can be made to say, token by token and always the same. */
export interface Tale {
  /** Asks for this many tokens of it. */
  ask(tokens: number, sampling?: Sampling): InferenceRequest;
  /** Its first tokens; at least 60 are known. */
  text(tokens: number): string;
}

/** The tale of a model that understands `[[sim …]]`. */
export const scriptedTale: Tale = {
  ask: (tokens, sampling = {}) => askFor(`[[sim tokens=${tokens} seed=3 ttft=0 gap=1ms]]`, { sampling }),
  text: (tokens) => referenceText(3, 0, tokens),
};

/**
 * The contract of every engine, whatever it runs on. Registers its tests with the test runner. `isScripted` means that
 * the model understands `[[sim …]]`; then reasoning, calls, JSON and failures are tested, too. `namesStops` is false
 * only for a server that does not say which stop string it has hit.
 */
export function describeEngine(
  name: string,
  create: () => Promise<EngineSubject>,
  { isScripted, namesStops = true }: { isScripted: boolean; namesStops?: boolean },
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

    describeTale(engine, tale, namesStops);
    describeAborts(engine, tale);
    describeResume(engine, tale);
    describePrefill(engine, tale);
    describeStop(create);
    describeDemands(engine, tale);
    if (isScripted) describeScripted(engine);
  });
}

function describeTale(engine: () => Engine, tale: () => Tale, namesStops: boolean): void {
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

  it('stops at the model’s limit if the request has none or asks for more', async () => {
    for (const sampling of [{}, { maxOutputTokens: 20 }]) {
      const events = await runOf(engine(), tale().ask(30, sampling), { maxOutputTokens: 7 });
      expect(textOf(events)).toBe(tale().text(7));
    }
  });

  it('ends before a stop string, and says which one', async () => {
    const full = tale().text(30);
    const stop = full.slice(40, 52);
    const events = await runOf(engine(), tale().ask(30, { stopSequences: [stop] }));
    expect(textOf(events)).toBe(full.slice(0, full.indexOf(stop)));
    const { reason, stopSequence } = collect(events).finish;
    expect(reason).toBe('stop');
    if (namesStops) expect(stopSequence).toBe(stop);
  });
}

function describeAborts(engine: () => Engine, tale: () => Tale): void {
  it('emits nothing if it is aborted beforehand', async () => {
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

function describeStop(create: () => Promise<EngineSubject>): void {
  it('is ready from its start to its stop, and refuses to generate after that', async () => {
    const { engine, tale, close } = await create();
    expect(engine.isReady()).toBe(false);
    await engine.start(new AbortController().signal);
    expect(engine.isReady()).toBe(true);
    await engine.stop();
    expect(engine.isReady()).toBe(false);
    const events = await runOf(engine, tale.ask(3));
    await close();
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'unavailable' }, usage: nothingSpent }]);
  });

  it('ends what still runs in an error when it is stopped', async () => {
    const { engine, tale, close } = await create();
    await engine.start(new AbortController().signal);
    let stopping: Promise<void> | undefined;
    const { events, done } = record(engine, tale.ask(60), {
      onEvent(seen) {
        // Not again for the event in which a run ends while `stop` is being called.
        const isFifth = seen.filter(isContent).length === 5 && seen.at(-1)?.type === 'text-delta';
        if (isFifth) stopping = engine.stop();
      },
    });
    await done;
    await stopping;
    await close();
    expect(findGrammarError(events)).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: 'error' });
    expect(textOf(events)).toBe(tale.text(5));
  });
}

function describeResume(engine: () => Engine, tale: () => Tale): void {
  it('continues after what was delivered, or says that it cannot', async () => {
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

  it('starts afresh if nothing was delivered', async () => {
    const events = await runOf(engine(), tale().ask(8), { resume: { content: [], outputTokens: 0 } });
    expect(textOf(events)).toBe(tale().text(8));
  });
}

function describePrefill(engine: () => Engine, tale: () => Tale): void {
  it('says only the rest of an answer that the client has begun, or refuses it by its place', async () => {
    const request = tale().ask(20);
    const text = tale().text(8);
    const events = await runOf(engine(), {
      ...request,
      messages: [...request.messages, { role: 'assistant', content: [{ type: 'text', text }] }],
      prefill: { path: 'messages[1]' },
    });
    if (events.at(-1)?.type === 'error') {
      const error = { kind: 'invalid-request', param: 'messages[1]' };
      expect(events).toMatchObject([{ type: 'error', error, usage: nothingSpent }]);
      return;
    }
    expect(findGrammarError(events)).toBeUndefined();
    const whole = text + textOf(events);
    // Whether the limit counts what was begun is the engine's affair.
    expect(whole.length).toBeGreaterThanOrEqual(tale().text(20).length);
    expect(whole).toBe(tale().text(60).slice(0, whole.length));
  });
}

const pet: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string', enum: ['Rex', 'Tom'] } },
  required: ['name'],
  additionalProperties: false,
};
const fed = { name: expect.stringMatching(/^(Rex|Tom)$/) };

interface Demand {
  what: string;
  demand: Partial<InferenceRequest>;
  expectMet(events: readonly GenerationEvent[]): void;
}

const demands: readonly Demand[] = [
  {
    what: 'an answer of no tokens, for which the prompt is read alone',
    demand: { sampling: { maxOutputTokens: 0 } },
    expectMet(events) {
      const { content, finish } = collect(events);
      expect(content).toEqual([]);
      expect(finish).toMatchObject({ reason: 'length', usage: { outputTokens: 0 } });
    },
  },
  {
    what: 'log probabilities',
    demand: { logprobs: { alternatives: 2 } },
    expectMet(events) {
      const deltas = events.filter((event) => event.type === 'text-delta');
      for (const { logprobs } of deltas) expect(logprobs?.length).toBeGreaterThan(0);
    },
  },
  {
    what: 'JSON of a schema',
    demand: { output: { type: 'json', schema: pet, name: 'pet' } },
    expectMet: (events) => expect(JSON.parse(textOf(events))).toEqual(fed),
  },
  {
    what: 'a call that must come',
    demand: {
      tools: [{ type: 'function', name: 'feed', parameters: pet }],
      toolChoice: { type: 'required' },
    },
    expectMet(events) {
      const { content, finish } = collect(events);
      expect(finish.reason).toBe('tool-calls');
      const calls = content.filter((part) => part.type === 'tool-call');
      expect(calls.map((call) => JSON.parse(call.arguments))).toContainEqual(fed);
    },
  },
];

function describeDemands(engine: () => Engine, tale: () => Tale): void {
  it.each(demands)('gives $what, or refuses to', async ({ demand, expectMet }) => {
    // More than a model's tale of this length takes: a call may come after it.
    const request = tale().ask(20, { maxOutputTokens: 60 });
    const events = await runOf(engine(), { ...request, ...demand });
    if (events.at(-1)?.type === 'error') {
      expect(events).toMatchObject([
        { type: 'error', error: { kind: 'invalid-request' }, usage: nothingSpent },
      ]);
      return;
    }
    expect(findGrammarError(events)).toBeUndefined();
    expectMet(events);
  });
}
