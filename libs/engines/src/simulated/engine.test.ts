import {
  collect,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  nothingSpent,
  type Resume,
} from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { quietServices } from '../test-services.ts';
import { SimulatedEngine } from './engine.ts';
import { referenceText } from './reference.ts';
import { parseStamps } from './stamp.ts';
import { VirtualTiming } from './test-timing.ts';

function ask(text: string, rest: Partial<InferenceRequest> = {}): InferenceRequest {
  return {
    model: 'sim',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    sampling: {},
    ...rest,
  };
}

const services = { ...quietServices, now: () => 1_700_000_000_000 };

interface RunOptions {
  resume?: Resume;
  maxOutputTokens?: number;
  contextTokens?: number;
}

function createRunner() {
  const timing = new VirtualTiming();
  const engine = new SimulatedEngine({ slots: 8, ttftMs: 25, gapMs: 20 }, services, timing);
  const controller = new AbortController();
  const events: GenerationEvent[] = [];
  const open = async (request: InferenceRequest, options: RunOptions = {}) => {
    await engine.start();
    const run = { id: 'abc', backendModel: 'sim', signal: controller.signal, ...options };
    return engine.generate(request, { ...run, emit: (event) => events.push(event) });
  };
  return { timing, engine, controller, events, open };
}

async function runToEnd(request: InferenceRequest, options: RunOptions = {}): Promise<GenerationEvent[]> {
  const { timing, events, open } = createRunner();
  const done = open(request, options);
  await Promise.resolve();
  timing.advance(3_600_000);
  await done;
  expect(timing.waiting).toBe(0);
  return events;
}

function textOf(events: GenerationEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
};
const clock = { ...weather, name: 'get_time' };

describe('the simulated model', () => {
  it('says the reference text of its seed, one token per delta', async () => {
    const events = await runToEnd(ask('please [[sim tokens=50 seed=7]] thank you'));
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(referenceText(7, 0, 50));
    expect(events.filter((event) => event.type === 'text-delta')).toHaveLength(50);
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'stop', usage: { outputTokens: 50 } });
  });

  it('says a hundred tokens if a directive gives no number', async () => {
    expect(collect(await runToEnd(ask('[[sim]]'))).finish.usage.outputTokens).toBe(100);
  });

  it('greets a caller without a directive, the same way every time', async () => {
    const events = await runToEnd(ask('hi'));
    expect(textOf(events)).toContain('[[sim tokens=200');
    expect(events).toEqual(await runToEnd(ask('hi')));
    expect(textOf(await runToEnd(ask('other')))).not.toBe(textOf(events));
  });

  it('does not take every text in brackets for a directive', async () => {
    for (const text of ['[[similar]]', '[[simple', 'sim tokens=5', '[sim tokens=5]']) {
      expect((await runToEnd(ask(text))).at(-1)).toMatchObject({
        type: 'finish',
        usage: { outputTokens: 64 },
      });
    }
  });

  it('takes the seed of the request if the directive has none', async () => {
    const events = await runToEnd(ask('[[sim tokens=5]]', { sampling: { seed: 99 } }));
    expect(textOf(events)).toBe(referenceText(99, 0, 5));
  });

  it('keeps the pace that was ordered', async () => {
    const { timing, events, open } = createRunner();
    const done = open(ask('[[sim tokens=4 ttft=50ms gap=10]]'));
    await Promise.resolve();
    const counts = [49, 1, 9, 1, 10, 10].map((ms) => {
      timing.advance(ms);
      return events.filter((event) => event.type === 'text-delta').length;
    });
    expect(counts).toEqual([0, 1, 1, 2, 3, 4]);
    await done;
  });

  it('brings several tokens at once after each gap of a burst', async () => {
    const { timing, events, open } = createRunner();
    void open(ask('[[sim tokens=9 ttft=0 gap=10 burst=3]]'));
    await Promise.resolve();
    timing.advance(0);
    expect(events.filter((event) => event.type === 'text-delta')).toHaveLength(3);
    timing.advance(10);
    expect(events.filter((event) => event.type === 'text-delta')).toHaveLength(6);
  });

  it('stamps each token with its emission time when asked to', async () => {
    const events = await runToEnd(ask('[[sim tokens=3 seed=1 ttft=5 gap=10 stamp]]'));
    const { text, emittedAt } = parseStamps(textOf(events));
    expect(text).toBe(referenceText(1, 0, 3));
    expect(emittedAt).toEqual([1_700_000_000_005, 1_700_000_000_015, 1_700_000_000_025]);
  });

  it('fails before anything is said with error@0, and midway with usage later', async () => {
    const bare = await runToEnd(ask('[[sim error=503]]'));
    expect(bare).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
    const midway = await runToEnd(ask('[[sim tokens=9 seed=3 error=internal@4]]'));
    expect(textOf(midway)).toBe(referenceText(3, 0, 4));
    expect(midway.at(-1)).toMatchObject({ error: { kind: 'internal' }, usage: { outputTokens: 4 } });
    const last = await runToEnd(ask('[[sim tokens=4 error=502@4]]'));
    expect(last.at(-1)).toMatchObject({ type: 'error' });
  });

  it('falls silent at a stall until it is aborted, then says nothing more', async () => {
    const { timing, controller, events, open } = createRunner();
    const done = open(ask('[[sim tokens=9 gap=1 stall@3]]'));
    await Promise.resolve();
    timing.advance(3_600_000);
    expect(events).toHaveLength(4);
    controller.abort();
    await done;
    timing.advance(1000);
    expect(events).toHaveLength(4);
  });

  it('refuses a malformed directive by naming the item, never its text', async () => {
    for (const [directive, word] of [
      ['[[sim tokens=many]]', 'tokens'],
      ['[[sim fancy=1]]', 'item 1'],
      ['[[sim stall]]', 'stall'],
      ['[[sim error=strange]]', 'error'],
      ['[[sim gap=2h]]', 'gap'],
      ['[[sim tokens=5', 'closing'],
      ['[[sim stamp@3]]', 'stamp'],
      ['[[sim __proto__=3]]', 'item 1'],
      // Each would be added to all before it: so many would block for longer than anyone waits.
      [`[[sim ${'tool=a '.repeat(500_000)}]]`, 'more than 128 calls'],
    ]) {
      const [event] = await runToEnd(ask(directive ?? ''));
      expect(event).toMatchObject({
        type: 'error',
        error: { kind: 'invalid-request' },
        usage: nothingSpent,
      });
      expect(JSON.stringify(event)).toContain(word);
      expect(JSON.stringify(event)).not.toMatch(/many|fancy|strange|2h/);
    }
  });

  it('stops at the lower of the request’s and the model’s limit', async () => {
    const own = await runToEnd(ask('[[sim seed=1]]', { sampling: { maxOutputTokens: 5 } }), {
      maxOutputTokens: 9,
    });
    expect(own.at(-1)).toMatchObject({ reason: 'length', usage: { outputTokens: 5 } });
    const clamped = await runToEnd(ask('[[sim seed=1]]', { sampling: { maxOutputTokens: 50 } }), {
      maxOutputTokens: 9,
    });
    expect(clamped.at(-1)).toMatchObject({ reason: 'length', usage: { outputTokens: 9 } });
    const exact = await runToEnd(ask('[[sim tokens=9]]'), { maxOutputTokens: 9 });
    expect(exact.at(-1)).toMatchObject({ reason: 'stop' });
  });

  it('leaves room for its prompt in the context of the model', async () => {
    const request = ask('[[sim seed=1]]', { sampling: { maxOutputTokens: 50 } });
    const events = await runToEnd(request, { contextTokens: 20 });
    expect(events.at(-1)).toMatchObject({ reason: 'length', usage: { inputTokens: 8, outputTokens: 12 } });
  });

  it('cuts before a stop string that spans tokens', async () => {
    const full = referenceText(5, 0, 40);
    const stop = full.slice(57, 75);
    const events = await runToEnd(
      ask('[[sim tokens=40 seed=5]]', { sampling: { stopSequences: ['none of it', stop] } }),
    );
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe(full.slice(0, full.indexOf(stop)));
    expect(events.at(-1)).toMatchObject({ reason: 'stop', stopSequence: stop });
  });

  it('emits what only looked like a stop string', async () => {
    const full = referenceText(5, 0, 10);
    const events = await runToEnd(
      ask('[[sim tokens=10 seed=5]]', { sampling: { stopSequences: [`${full.slice(-8)}never`] } }),
    );
    expect(textOf(events)).toBe(full);
    expect(events.at(-1)).toMatchObject({ reason: 'stop', usage: { outputTokens: 10 } });
    expect(events.at(-1)).not.toHaveProperty('stopSequence');
  });

  it('reasons first when asked, and counts it', async () => {
    const events = await runToEnd(ask('[[sim tokens=3 seed=1]]', { reasoning: { effort: 'high' } }));
    const { content, finish } = collect(events);
    expect(content.map((part) => part.type)).toEqual(['reasoning', 'text']);
    expect(finish.usage).toMatchObject({ outputTokens: 19, reasoningTokens: 16 });
    const none = collect(await runToEnd(ask('[[sim tokens=3]]', { reasoning: { effort: 'none' } })));
    expect(none.content.map((part) => part.type)).toEqual(['text']);
    const ordered = collect(await runToEnd(ask('[[sim tokens=3 reasoning=2]]')));
    expect(ordered.finish.usage.reasoningTokens).toBe(2);
  });

  it('gives log probabilities of every token when asked', async () => {
    const { logprobs } = collect(await runToEnd(ask('[[sim tokens=3]]', { logprobs: { alternatives: 2 } })));
    expect(logprobs).toHaveLength(3);
    expect(logprobs?.[0]).toMatchObject({ logprob: expect.any(Number), top_logprobs: [{}, {}] });
  });
});

describe('the tools of the simulated model', () => {
  const tools = [weather, clock];

  it('are called by directive, in parallel if several are named', async () => {
    const events = await runToEnd(ask('[[sim tool=get_weather,get_time]]', { tools }));
    expect(findGrammarError(events)).toBeUndefined();
    const { content, finish } = collect(events);
    expect(content.map((part) => part.type === 'tool-call' && part.name)).toEqual([
      'get_weather',
      'get_time',
    ]);
    expect(finish.reason).toBe('tool-calls');
    const [first] = content;
    expect(first?.type === 'tool-call' && JSON.parse(first.arguments)).toMatchObject({
      city: expect.any(String),
    });
    expect(events.filter((event) => event.type === 'tool-call-delta').length).toBeGreaterThan(4);
    const ids = content.map((part) => part.type === 'tool-call' && part.id);
    expect(new Set(ids).size).toBe(2);
  });

  it('are called one at a time if parallel calls are forbidden', async () => {
    const request = ask('[[sim tool=get_weather,get_time]]', { tools, parallelToolCalls: false });
    expect(collect(await runToEnd(request)).content).toHaveLength(1);
  });

  it('are called when the caller demands it, without any directive', async () => {
    const required = collect(
      await runToEnd(ask('hi', { tools, toolChoice: { type: 'required', allowed: ['get_time'] } })),
    );
    expect(required.content).toMatchObject([{ type: 'tool-call', name: 'get_time' }]);
    const named = collect(
      await runToEnd(ask('hi', { tools, toolChoice: { type: 'tool', name: 'get_weather' } })),
    );
    expect(named.content).toMatchObject([{ name: 'get_weather' }]);
    const none = collect(
      await runToEnd(ask('[[sim tool=get_time tokens=2]]', { tools, toolChoice: { type: 'none' } })),
    );
    expect(none.content).toMatchObject([{ type: 'text' }]);
  });

  it('are not called again once there are results', async () => {
    const request = ask('[[sim tool=get_time]] secret', { tools });
    request.messages.push(
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'get_time', arguments: '{}' }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', content: [{ type: 'text', text: 'secret' }] }],
      },
    );
    const { content, finish } = collect(await runToEnd(request));
    expect(content).toMatchObject([{ type: 'text' }]);
    expect(finish.reason).toBe('stop');
    expect(JSON.stringify(content)).not.toContain('secret');
  });

  it('may not be too large together', async () => {
    const fields = Array.from({ length: 3_000 }, (_, index) => `f${index}`);
    const properties = Object.fromEntries(fields.map((name) => [name, { type: 'integer' }]));
    const parameters = { type: 'object', properties, required: fields };
    const large = [{ type: 'function' as const, name: 'f', parameters }];
    const [one] = await runToEnd(ask('[[sim tool=f]]', { tools: large }));
    expect(one).toMatchObject({ type: 'start' });
    const [many] = await runToEnd(ask(`[[sim tool=${'f,'.repeat(128)}]]`, { tools: large }));
    expect(many).toMatchObject({ type: 'error', error: { kind: 'invalid-request' } });
  });

  it('must be declared', async () => {
    const [event] = await runToEnd(ask('[[sim tool=unheard_of]]', { tools }));
    expect(event).toMatchObject({ type: 'error', error: { kind: 'invalid-request' } });
  });

  it('need not be declared any more once they were called', async () => {
    const called = (fields: Partial<InferenceRequest>) => {
      const request = ask('[[sim tool=hand_over]]', fields);
      request.messages.push(
        { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'hand_over', arguments: '{}' }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', content: [] }] },
      );
      return request;
    };
    const bare = collect(await runToEnd(called({})));
    expect(bare.content).toMatchObject([{ type: 'text' }]);
    const other = collect(await runToEnd(called({ tools: [clock], toolChoice: { type: 'required' } })));
    expect(other.content).toMatchObject([{ type: 'tool-call', name: 'get_time' }]);
  });

  it('are ended properly when the limit cuts their arguments', async () => {
    const events = await runToEnd(ask('[[sim tool=get_time]]', { tools, sampling: { maxOutputTokens: 2 } }));
    expect(findGrammarError(events)).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ reason: 'length', usage: { outputTokens: 2 } });
  });
});

describe('a resumed generation', () => {
  const requests: [string, InferenceRequest][] = [
    ['text', ask('[[sim tokens=20 seed=4]]')],
    ['reasoning', ask('[[sim tokens=6 reasoning=5 seed=4]]')],
    ['calls', ask('[[sim tool=get_weather,get_time tokens=3]]', { tools: [weather, clock] })],
    [
      'stop strings',
      ask('[[sim tokens=40 seed=5]]', {
        sampling: { stopSequences: [referenceText(5, 0, 40).slice(57, 75)] },
      }),
    ],
    ['limits', ask('[[sim tokens=40 seed=5]]', { sampling: { maxOutputTokens: 7 } })],
    ['JSON', ask('[[sim seed=2]]', { output: { type: 'json' } })],
    ['failures', ask('[[sim tokens=9 error=500@7]]')],
  ];

  it.each(requests)(
    'continues with %s after any event as if nothing had happened',
    async (_name, request) => {
      const { Collector, isContent } = await import('@sluice/canonical');
      const whole = await runToEnd(request);
      for (let cut = 1; cut < whole.length; cut += 1) {
        const delivered = new Collector();
        for (const event of whole.slice(0, cut)) delivered.push(event);
        const { content, outputTokens } = delivered;
        const resume = structuredClone({ content, outputTokens });
        const again = await runToEnd(request, { resume });
        expect(again[0]).toEqual(whole[0]);
        const rest = again.slice(1);
        // The end of the last delivered call is emitted again; the receiver drops it.
        if (whole[cut - 1]?.type === 'tool-call-end') expect(rest.shift()).toEqual(whole[cut - 1]);
        const skipped = whole.slice(cut).filter((event) => event.type !== 'start');
        expect(rest).toEqual(skipped);
        expect(rest.some(isContent) || rest.length > 0).toBe(true);
      }
    },
  );

  it('emits only the undelivered half of a token', async () => {
    const request = ask('[[sim tokens=3 seed=4]]');
    const half = referenceText(4, 0, 3).slice(0, 3);
    const events = await runToEnd(request, {
      resume: { content: [{ type: 'text', text: half }], outputTokens: 1 },
    });
    expect(half + textOf(events)).toBe(referenceText(4, 0, 3));
  });

  it('does not replay the pauses', async () => {
    const { timing, events, open } = createRunner();
    const content = [{ type: 'text' as const, text: referenceText(4, 0, 1000) }];
    void open(ask('[[sim tokens=1002 seed=4 ttft=1s gap=1s]]'), { resume: { content, outputTokens: 1000 } });
    await Promise.resolve();
    timing.advance(0);
    expect(textOf(events)).toBe(referenceText(4, 1000, 1));
  });

  it('fails rather than continue a text that is not its own', async () => {
    const resume = { content: [{ type: 'text' as const, text: 'something else' }], outputTokens: 2 };
    const events = await runToEnd(ask('[[sim tokens=3 seed=4]]'), { resume });
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream-failed' } });
    expect(textOf(events)).toBe('');
  });
});

describe('the simulated engine', () => {
  it('fails running generations when it is stopped, and takes no more', async () => {
    const { timing, engine, events, open } = createRunner();
    const done = open(ask('[[sim tokens=3 gap=1s]]'));
    await Promise.resolve();
    timing.advance(30);
    expect(engine.isReady()).toBe(true);
    await engine.stop();
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'unavailable' } });
    expect(engine.isReady()).toBe(false);
    expect(timing.waiting).toBe(0);
  });
});
