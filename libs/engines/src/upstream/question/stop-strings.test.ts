import { once } from 'node:events';
import { collect, findGrammarError, type GenerationEvent, type InferenceRequest } from '@sluice/canonical';
import { findClientCodec, type ServerTraits } from '@sluice/formats';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, record, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { cutAt } from '../answer/stop-cut.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';
import { shareStops } from './stop-strings.ts';

const asked = (stopSequences: string[]): InferenceRequest => askFor('hi', { sampling: { stopSequences } });

function serversOf(dialect: string): ServerTraits {
  const codec = findClientCodec(dialect);
  if (!codec) throw new Error(`no dialect ${dialect}`);
  return codec.servers;
}

const six = ['a1', 'b2', 'c3', 'd4', 'e5', 'f6'];

describe('the stop strings of a request', () => {
  it.each([
    ['openai', six.slice(0, 4), six.slice(4)],
    ['gemini', six.slice(0, 5), six.slice(5)],
    ['anthropic', six, []],
  ])('are sent to servers of %s as far as they accept them', (dialect, theirs, ours) => {
    const shared = shareStops(asked(six), serversOf(dialect), 'm');
    expect(shared.request.sampling.stopSequences).toEqual(theirs);
    expect(shared.stops).toEqual(ours);
  });

  it('are kept from servers of messages if nothing of them is visible', () => {
    const shared = shareStops(asked(['\n\n']), serversOf('anthropic'), 'm');
    expect(shared).toMatchObject({ request: { sampling: {} }, stops: ['\n\n'] });
    expect(shared.request.sampling).not.toHaveProperty('stopSequences');
  });
});

describe('the stop strings for a model that reasons', () => {
  it.each(['o3', 'o4-mini', 'gpt-5', 'gpt-5.1-mini', 'openai/gpt-5'])(
    'are ours to search for: %s',
    (model) => {
      const shared = shareStops(asked(['END']), serversOf('openai'), model);
      expect(shared.stops).toEqual(['END']);
      expect(shared.request.sampling).not.toHaveProperty('stopSequences');
    },
  );

  it.each(['gpt-4o', 'gpt-oss-120b', 'gpt-5-chat-latest', 'qwen3'])('are sent to others: %s', (model) => {
    expect(shareStops(asked(['END']), serversOf('openai'), model).stops).toEqual([]);
  });
});

/** What remains of an answer that is cut at these strings, and whether its call was ended. */
async function cut(stops: readonly string[], answer: readonly GenerationEvent[]) {
  const events: GenerationEvent[] = [];
  const listening = {
    signal: new AbortController().signal,
    emit: (event: GenerationEvent) => void events.push(event),
  };
  let wasEnded = false;
  await cutAt(
    stops,
    () => 7,
    listening,
    async ({ signal, emit }) => {
      for (const event of answer) emit(event);
      wasEnded = signal.aborted;
    },
  );
  expect(findGrammarError(events)).toBeUndefined();
  return { events, wasEnded };
}

const start: GenerationEvent = { type: 'start', id: 'a', model: 'm', createdAt: 1 };
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  usage: { inputTokens: 3, outputTokens: 9 },
};
const said = (text: string, block = 0, tokens = 1): GenerationEvent => ({
  type: 'text-delta',
  block,
  text,
  tokens,
});

describe('an answer with a stop string that its server did not get', () => {
  it('ends before it, and so does the call', async () => {
    const { events, wasEnded } = await cut(['END'], [start, said('one E'), said('N'), said('D two'), finish]);
    expect(textOf(events)).toBe('one ');
    expect(events.at(-1)).toEqual({
      type: 'finish',
      reason: 'stop',
      stopSequence: 'END',
      usage: { inputTokens: 7, outputTokens: 3 },
    });
    expect(wasEnded).toBe(true);
  });

  it('ends with the prompt tokens that its server reported', async () => {
    const { events } = await cut(['END'], [{ ...start, inputTokens: 40 }, said('END')]);
    expect(collect(events).finish.usage).toEqual({ inputTokens: 40, outputTokens: 1 });
  });

  it('ends with all that its server reported of the prompt', async () => {
    const prompt = { inputTokens: 4_000, cacheReadTokens: 3_000, cacheWriteTokens: 900 };
    const usageExtensions = { anthropic: { service_tier: 'priority' } };
    const { events } = await cut(['END'], [{ ...start, ...prompt, usageExtensions }, said('END')]);
    const usage = { ...prompt, outputTokens: 1, extensions: usageExtensions };
    expect(collect(events).finish.usage).toEqual(usage);
  });

  it('has cost its thoughts, its calls and its pictures, too', async () => {
    const { events } = await cut(
      ['END'],
      [
        start,
        { type: 'reasoning-delta', block: 0, text: 't'.repeat(400), tokens: 90 },
        { type: 'tool-call-start', block: 1, id: 'c', name: 'f' },
        { type: 'tool-call-delta', block: 1, arguments: `"${'a'.repeat(398)}"`, tokens: 120 },
        { type: 'tool-call-end', block: 1 },
        { type: 'opaque', block: 2, format: 'gemini', value: {}, tokens: 1290 },
        said('END', 3),
      ],
    );
    expect(collect(events).finish.usage.outputTokens).toBe(90 + 120 + 1290 + 1);
  });

  it('says and costs what its deltas stand for', async () => {
    const sentence = 'A sentence of several tokens. ';
    const long = said(sentence, 0, 7);
    const { events } = await cut(['END'], [start, long, said(`${sentence}E`, 0, 8), said('ND', 0, 2)]);
    expect(events.slice(1, -1)).toEqual([long, said(sentence, 0, 8)]);
    expect(collect(events).finish.usage.outputTokens).toBe(7 + 8 + 2);
    const letters = [...'八个字一个一个说'].map((letter) => said(letter));
    const short = await cut(['END'], [start, ...letters, said('END')]);
    expect(collect(short.events).finish.usage.outputTokens).toBe(8 + 1);
  });

  it('counts the tokens of a piece once if they are told with its first part', async () => {
    const rest: GenerationEvent = { type: 'text-delta', block: 1, text: 'and text' };
    const thought: GenerationEvent = { type: 'reasoning-delta', block: 0, text: 'why', tokens: 9 };
    const { events } = await cut(['END'], [start, thought, rest, said('END', 1)]);
    expect(events.slice(1, -1)).toEqual([thought, { ...rest, tokens: 0 }]);
    expect(collect(events).finish.usage.outputTokens).toBe(9 + 1);
  });

  it('ends before the first of several, however its text is split', async () => {
    const letter = fc.constantFrom('a', 'b', '\n');
    const text = fc.string({ unit: letter, maxLength: 40 });
    const stops = fc.array(fc.string({ unit: letter, minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(text, stops, fc.array(fc.nat(5)), async (whole, sought, sizes) => {
        const { events, wasEnded } = await cut(sought, [start, ...split(whole, sizes), finish]);
        const isThere = sought.some((stop) => whole.includes(stop));
        expect(wasEnded).toBe(isThere);
        if (isThere) expect(sought).toContain(collect(events).finish.stopSequence);
        else expect(textOf(events)).toBe(whole);
        for (const stop of sought) expect(textOf(events)).not.toContain(stop);
        expect(whole.startsWith(textOf(events))).toBe(true);
      }),
    );
  });

  it('emits what only looked like one: before its end, its failure and another block', async () => {
    const failure: GenerationEvent = { type: 'error', error: { kind: 'upstream-failed', message: 'lost' } };
    for (const last of [finish, failure]) {
      const { events } = await cut(['END'], [start, said('one EN'), last]);
      expect(events.slice(1)).toEqual([said('one '), said('EN', 0, 0), last]);
    }
    const call: GenerationEvent[] = [
      { type: 'tool-call-start', block: 1, id: 'c', name: 'f' },
      { type: 'tool-call-delta', block: 1, arguments: '"END"' },
      { type: 'tool-call-end', block: 1 },
    ];
    const { events } = await cut(['END'], [start, said('EN'), ...call, said('D.', 2), finish]);
    expect(events).toEqual([start, said('EN'), ...call, said('D.', 2), finish]);
  });

  it.each<[string, GenerationEvent]>([
    ['thoughts', { type: 'reasoning-delta', block: 1, text: 'why' }],
    ['an event of another block', { type: 'opaque', block: 1, format: 'openai', value: {} }],
    ['the text of another block', said('D', 1)],
  ])('emits what only looked like one before %s', async (_what, next) => {
    const { events, wasEnded } = await cut(['END'], [start, said('EN'), next, finish]);
    expect([events, wasEnded]).toEqual([[start, said('EN'), next, finish], false]);
  });

  it('is not searched in thoughts', async () => {
    const thought: GenerationEvent = { type: 'reasoning-delta', block: 0, text: 'not the END' };
    const { events } = await cut(['END'], [start, thought, said('done', 1), finish]);
    expect(events).toEqual([start, thought, said('done', 1), finish]);
  });

  it('keeps annotations and separate events in their place', async () => {
    const note: GenerationEvent = { type: 'block-annotation', block: 0, extensions: { openai: { a: 1 } } };
    const beside: GenerationEvent = { type: 'opaque', format: 'openai', value: { delta: {} } };
    const { events } = await cut(['END'], [start, said('E'), note, beside, said('x'), note, finish]);
    expect(events).toEqual([start, beside, said('Ex', 0, 2), note, note, finish]);
    const spanning = await cut(['END'], [start, said('E'), beside, said('ND')]);
    expect(spanning.events).toMatchObject([start, beside, { type: 'finish', stopSequence: 'END' }]);
  });

  it('keeps log probabilities with their text', async () => {
    const token = (text: string): GenerationEvent => ({
      type: 'text-delta',
      block: 0,
      text,
      tokens: 1,
      logprobs: [{ token: text }],
    });
    const { events } = await cut(['END'], [start, token('one '), token('E'), token('x'), token('END')]);
    expect(events.slice(1, -1)).toEqual([
      token('one '),
      { type: 'text-delta', block: 0, text: 'Ex', tokens: 2, logprobs: [{ token: 'E' }, { token: 'x' }] },
    ]);
    const silent = await cut(['END'], [start, token(''), token('E'), token(''), token('x'), finish]);
    const logprobs = ['E', '', 'x'].map((each) => ({ token: each }));
    expect(silent.events.slice(1, -1)).toEqual([
      token(''),
      { type: 'text-delta', block: 0, text: 'Ex', tokens: 3, logprobs },
    ]);
  });
});

function split(text: string, sizes: readonly number[]): GenerationEvent[] {
  const deltas: GenerationEvent[] = [];
  let from = 0;
  for (const size of sizes) {
    deltas.push(said(text.slice(from, from + size)));
    from += size;
  }
  return [...deltas, said(text.slice(from))];
}

describe('an upstream', () => {
  let server: ChatServer;
  let engine: UpstreamEngine;
  beforeEach(async () => {
    server = await ChatServer.open();
    const options = upstreamOptions.parse({ baseUrl: server.baseUrl, resume: 'prefix' });
    engine = createUpstreamEngine(options, quietServices);
  });
  afterEach(async () => {
    await engine.stop();
    await server.close();
  });

  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

  it('gets four stop strings; at another one its answer ends and its connection closes', async () => {
    let closed: Promise<unknown> | undefined;
    server.answer = (response) => {
      closed = once(response, 'close');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('one f') + chunk('6 two'));
    };
    const events = await runOf(engine, asked(six));
    await closed;
    expect(server.seen[0]?.body.stop).toEqual(six.slice(0, 4));
    expect(textOf(events)).toBe('one ');
    expect(collect(events).finish).toMatchObject({ reason: 'stop', stopSequence: 'f6' });
  });

  it('ends with the run as usual', async () => {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('on'));
    };
    const { events, done } = record(engine, asked(six), {
      onEvent: (seen, controller) => textOf(seen) === 'on' && controller.abort(),
    });
    await done;
    expect(events).toMatchObject([{ type: 'start' }, { type: 'text-delta', text: 'on' }]);
  });

  it('continues a lost answer up to its stop string', async () => {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('and e') + chunk('5 two'));
    };
    const resume = { content: [{ type: 'text' as const, text: 'one ' }], outputTokens: 10 };
    const events = await runOf(engine, asked(six), { resume });
    expect(textOf(events)).toBe('and ');
    const { usage } = collect(events).finish;
    expect(usage.outputTokens).toBe(10 + 2);
  });
});
