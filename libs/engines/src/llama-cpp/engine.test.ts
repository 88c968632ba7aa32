import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { collect, findGrammarError, type GenerationEvent, isContent, isTerminal } from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { askFor, type Recording, record, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { LlamaCppEngine } from './engine.ts';
import { loadLibrary } from './library.ts';
import { llamaCppOptions } from './options.ts';
import { ask, greedy, story, TestModels, told, upTo } from './test-models.ts';

const models = new TestModels();
/** Does not end by itself. */
const endless = Array.from({ length: 150 }, (_value, index) => ` word${index}`);

describe('an embedded model', () => {
  it('tells its story, with usage', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(engine, ask());
    expect(findGrammarError(events)).toBeUndefined();
    expect(events[0]).toMatchObject({
      type: 'start',
      id: 'run1',
      model: 'sim',
      inputTokens: expect.any(Number),
    });
    expect(textOf(events)).toBe(told);
    expect(events.filter(isContent)).toHaveLength(story.length);
    const { finish } = collect(events);
    expect(finish).toMatchObject({ reason: 'stop', usage: { outputTokens: story.length } });
    expect(finish.usage.inputTokens).toBeGreaterThan(10);
  });

  it('evaluates the common beginning of two prompts once', async () => {
    const fresh = await models.start([...story, endOfTurn], { slots: 2 });
    const first = collect(await runOf(fresh, ask())).finish.usage;
    const again = collect(await runOf(fresh, ask())).finish.usage;
    expect(first.cacheReadTokens).toBe(0);
    expect(again.inputTokens).toBe(first.inputTokens);
    expect(again.cacheReadTokens).toBeGreaterThan(10);
    // The last token is always evaluated, because the next one follows from it.
    expect(again.cacheReadTokens).toBeLessThan(again.inputTokens ?? 0);
    const other = collect(await runOf(fresh, askFor('Something else.', { sampling: greedy }))).finish.usage;
    expect(other.cacheReadTokens).toBeLessThan(again.cacheReadTokens ?? 0);
  });

  it('draws the same tokens for the same seed', async () => {
    const wild = await models.start([...story, endOfTurn], {
      sampling: { temperature: 5, topP: 1, topK: 0, minP: 0 },
    });
    const draw = async (seed: number) =>
      textOf(await runOf(wild, ask({ sampling: { seed, maxOutputTokens: 40 } })));
    const first = await draw(-7);
    expect(first).not.toContain(told);
    expect(await draw(-7)).toBe(first);
    expect(await draw(8)).not.toBe(first);
  });

  it('keeps concurrent generations apart, even if there are more of them than slots', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const runs = Array.from({ length: 9 }, (_value, index) => runOf(engine, upTo(index + 1)));
    const texts = (await Promise.all(runs)).map(textOf);
    expect(texts).toEqual(story.map((_piece, index) => story.slice(0, index + 1).join('')));
  });

  it('says a token less often the more it is penalized', async () => {
    const engine = await models.start([' la', ' la']);
    const said = async (penalties: object) =>
      textOf(await runOf(engine, ask({ sampling: { ...greedy, maxOutputTokens: 40, ...penalties } })));
    expect(await said({})).toBe(' la'.repeat(40));
    expect(await said({ frequencyPenalty: 2 })).not.toBe(' la'.repeat(40));
  });

  it('answers JSON if a schema asks for it', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const schema = { type: 'object', properties: { mood: { enum: ['calm', 'wild'] } }, required: ['mood'] };
    const events = await runOf(engine, ask({ output: { type: 'json', schema } }));
    expect(JSON.parse(textOf(events))).toEqual({ mood: expect.stringMatching(/calm|wild/) });
    expect(collect(events).finish.reason).toBe('stop');
  });

  it('answers an object if any JSON will do', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(
      engine,
      ask({ output: { type: 'json' }, sampling: { ...greedy, maxOutputTokens: 60 } }),
    );
    expect(textOf(events)).toMatch(/^\{/);
  });
});

describe('an abort of an embedded generation', () => {
  const count = (events: readonly GenerationEvent[]) => events.filter(isContent).length;

  it('ends it between two tokens and gives its slot to the next', async () => {
    const engine = await models.start(endless, { slots: 1 });
    const { events, done } = record(engine, ask(), {
      onEvent(seen, controller) {
        if (count(seen) === 5) controller.abort();
      },
    });
    await done;
    expect(textOf(await runOf(engine, upTo(3)))).toBe(' word0 word1 word2');
    expect(count(events)).toBe(5);
    expect(events.some(isTerminal)).toBe(false);
  });

  it('leaves the line in which it waits for a slot', async () => {
    const engine = await models.start(endless, { slots: 1 });
    const waiting: Recording[] = [];
    const first = record(engine, upTo(20), {
      onEvent(seen) {
        if (seen.length === 2) waiting.push(record(engine, ask()));
        if (seen.length === 15) waiting[0]?.controller.abort();
      },
    });
    await first.done;
    await waiting[0]?.done;
    expect(waiting[0]?.events).toEqual([]);
    expect(count(first.events)).toBe(20);
    expect(count(await runOf(engine, upTo(20)))).toBe(20);
  });

  it('does not wait for the end of a long prompt', async () => {
    const engine = await models.start(endless, { slots: 1 });
    const { events, controller, done } = record(engine, askFor('x'.repeat(1900), { sampling: greedy }), {
      onEvent: (_seen, each) => each.abort(),
    });
    await done;
    expect(controller.signal.aborted).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(['start']);
    expect(count(await runOf(engine, upTo(20)))).toBe(20);
  });
});

describe('the context of an embedded model', () => {
  it('refuses a prompt that does not fit', async () => {
    const engine = await models.start([...story, endOfTurn], { contextTokens: 256 });
    for (const [size, said] of [
      [300, 'tokens, more'],
      [5_000_000, 'characters with its schemas, more'],
    ] as const) {
      const events = await runOf(engine, askFor('x'.repeat(size)));
      expect(events).toMatchObject([
        {
          type: 'error',
          error: {
            kind: 'invalid-request',
            detail: 'context-length-exceeded',
            message: expect.stringContaining(said),
          },
        },
      ]);
    }
  });

  it('ends an answer that would not fit, and drops nothing of the prompt', async () => {
    const engine = await models.start(endless, { contextTokens: 256 });
    const events = await runOf(engine, askFor('x'.repeat(150), { sampling: greedy }));
    const { finish } = collect(events);
    expect(finish.reason).toBe('length');
    const { inputTokens = 0, outputTokens = 0 } = finish.usage;
    expect(inputTokens + outputTokens).toBeLessThanOrEqual(256);
    expect(textOf(events)).toBe(endless.slice(0, outputTokens).join(''));
  });

  it('is no larger for an answer with a limit than the settings say of the model', async () => {
    const engine = await models.start(story);
    const request = ask({ sampling: { ...greedy, maxOutputTokens: 100 } });
    const { inputTokens = 0 } = collect(await runOf(engine, request, { maxOutputTokens: 1 })).finish.usage;
    const events = await runOf(engine, request, { contextTokens: inputTokens + 5 });
    expect(collect(events).finish).toMatchObject({ reason: 'length', usage: { outputTokens: 5 } });
  });

  it('holds an answer or refuses, however little room is left', async () => {
    const engine = await models.start([...story, endOfTurn], { contextTokens: 256 });
    const outcomes = new Set<string>();
    for (let length = 225; length < 256; length++) {
      const events = await runOf(engine, askFor('x'.repeat(length), { sampling: greedy }));
      expect(findGrammarError(events)).toBeUndefined();
      const last = events.at(-1);
      if (last?.type === 'error') expect(last.error.detail).toBe('context-length-exceeded');
      if (last?.type === 'finish') expect(last.usage.outputTokens).toBeGreaterThan(0);
      outcomes.add(last?.type ?? 'nothing');
    }
    expect(outcomes).toEqual(new Set(['finish', 'error']));
  });

  it('ends calls that would not fit, and drops nothing of the prompt', async () => {
    const call = ['<tool_call>', '\n{"name": "', 'get_time', '", "arguments": ', '{}', '}\n', '</tool_call>'];
    // The line break leads to the next call, without end.
    const engine = await models.start([...call, '\n'], { chatWrapper: 'qwen', contextTokens: 768 });
    const tools = [{ type: 'function' as const, name: 'get_time', parameters: { type: 'object' } }];
    const events = await runOf(engine, ask({ tools }));
    expect(findGrammarError(events)).toBeUndefined();
    expect(collect(events).content.length).toBeGreaterThan(5);
    expect(collect(events).finish.reason).toBe('length');
  });

  it('is never larger than what the model was trained for', async () => {
    const engine = await models.start([...story, endOfTurn], { contextTokens: 100_000 });
    const events = await runOf(engine, askFor('x'.repeat(2100)));
    expect(events).toMatchObject([{ error: { message: expect.stringContaining('context of 2048') } }]);
  });
});

describe('an embedded engine', () => {
  const start = (engine: LlamaCppEngine) => engine.start(new AbortController().signal);

  it('names the file that is missing', async () => {
    const path = join(models.folder, 'none.gguf');
    await expect(start(models.create({ modelPath: path }))).rejects.toThrow(
      `the model file ${path} cannot be read`,
    );
  });

  it('says that a file is not a model', async () => {
    const path = join(models.folder, 'letter.gguf');
    writeFileSync(path, 'Dear Sir or Madam, '.repeat(100));
    const engine = models.create({ modelPath: path });
    await expect(start(engine)).rejects.toThrow(`the model ${path} does not load`);
    expect(engine.isReady()).toBe(false);
  });

  it('says that the model has no chat template, if it is to keep to its own', async () => {
    const modelPath = models.write(story);
    const content = readFileSync(modelPath, 'latin1');
    writeFileSync(modelPath, content.replace('chat_template', 'chit_template'), 'latin1');
    await expect(start(models.create({ modelPath, chatWrapper: 'jinjaTemplate' }))).rejects.toThrow(
      `the model ${modelPath} does not load: it has no chat template`,
    );
  });

  it('says that the chat template does not work, if the model is to keep to it', async () => {
    const modelPath = models.write(story, "{{ raise_exception('no chats') }}");
    await expect(start(models.create({ modelPath, chatWrapper: 'jinjaTemplate' }))).rejects.toThrow(
      /the model .* does not load: .*template.*no chats/,
    );
  });

  it('says that there is no build for the chosen hardware', async () => {
    const engine = models.create({ modelPath: models.write(story), gpu: 'cuda' });
    await expect(start(engine)).rejects.toThrow('llama.cpp does not run here with gpu: cuda');
  });

  it('says what has to be installed', async () => {
    const options = llamaCppOptions.parse({ modelPath: models.write(story) });
    const engine = new LlamaCppEngine(options, quietServices, loadLibrary);
    await expect(start(engine)).rejects.toThrow('npm install --no-save node-llama-cpp');
  });

  it('holds no signal of an answer that has ended', async () => {
    const engine = await models.start([...story, endOfTurn]);
    // Collects garbage before it counts.
    const signals = () => queryObjects(AbortSignal, { format: 'count' });
    await runOf(engine, ask());
    const before = signals();
    for (let run = 0; run < 20; run++) await runOf(engine, ask());
    expect(signals()).toBeLessThan(before + 10);
  });

  it('ends its generations when it is stopped, and generates no more', async () => {
    const engine = await models.start(endless, { slots: 1 });
    expect(engine.isReady()).toBe(true);
    const waiting: Promise<GenerationEvent[]>[] = [];
    const { events, done } = record(engine, ask(), {
      onEvent(seen) {
        if (seen.length !== 3) return;
        waiting.push(runOf(engine, ask()));
        void engine.stop();
      },
    });
    await done;
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'unavailable' } });
    expect(findGrammarError(events)).toBeUndefined();
    expect(engine.isReady()).toBe(false);
    for (const late of [...(await Promise.all(waiting)), await runOf(engine, ask())]) {
      expect(late).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
    }
  });
});
