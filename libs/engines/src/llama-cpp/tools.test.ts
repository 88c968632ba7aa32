import {
  collect,
  type FunctionTool,
  findGrammarError,
  type GenerationEvent,
  type InferenceRequest,
  type JsonObject,
  type Message,
  type ToolChoice,
} from '@sluice/canonical';
import { endOfTurn } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { runOf, textOf } from '../test-runs.ts';
import { ask, greedy, story, TestModels, told } from './test-models.ts';
import { planCalls } from './tools.ts';

const models = new TestModels();

const tool = (name: string, properties: JsonObject = {}, required: string[] = []): FunctionTool => ({
  type: 'function',
  name,
  description: `what ${name} does`,
  parameters: { type: 'object', properties, required },
});
const city = { type: 'string', description: 'a name' };
const weather = tool('get_weather', { city }, ['city']);

describe('planCalls', () => {
  const tools = [weather, tool('get_time'), tool('get_date')];
  const offered = (toolChoice: ToolChoice | undefined) =>
    Object.keys(planCalls(ask({ tools, ...(toolChoice && { toolChoice }) })).functions ?? {});

  it.each<[ToolChoice | undefined, string[]]>([
    [undefined, ['get_weather', 'get_time', 'get_date']],
    [{ type: 'auto', allowed: ['get_time'] }, ['get_time']],
    [{ type: 'required', allowed: ['get_time', 'get_date'] }, ['get_time', 'get_date']],
    [{ type: 'tool', name: 'get_date' }, ['get_date']],
    [{ type: 'none' }, []],
  ])('offers these for the choice %j', (toolChoice, names) => expect(offered(toolChoice)).toEqual(names));

  it('keeps what the schema says of each argument', () => {
    const unit = { anyOf: [{ const: 'c' }, { const: 'f' }], description: 'of the degrees' };
    const { functions = {} } = planCalls(ask({ tools: [tool('get_weather', { city, unit }, ['city'])] }));
    expect(functions.get_weather?.params).toMatchObject({
      properties: {
        city: { description: 'a name' },
        unit: { description: 'of the degrees', oneOf: [{ const: 'c' }, { const: 'f' }, { type: 'null' }] },
      },
    });
  });

  it('allows as many calls as clients can index', () => {
    expect(planCalls(ask({ tools })).most).toBe(128);
    expect(planCalls(ask({ tools, parallelToolCalls: false })).most).toBe(1);
  });

  it('recognizes a tool that takes no arguments', () => {
    const open = { ...tool('any'), parameters: { type: 'object', additionalProperties: true } };
    const { functions = {} } = planCalls(ask({ tools: [...tools, open] }));
    const takers = Object.keys(functions).filter((name) => functions[name]?.params !== undefined);
    expect(takers).toEqual(['get_weather', 'any']);
    expect(functions.get_time).toEqual({ description: 'what get_time does' });
  });
});

describe('tools of an embedded model', () => {
  /** Calls are written as `||call: name(arguments)`; four line breaks end the arguments. */
  const call = (name: string, args: string) => ['||call: ', name, '(', ...args.split('|'), '\n\n\n\n', ')'];
  const callsOf = (events: readonly GenerationEvent[]) => {
    expect(findGrammarError(events)).toBeUndefined();
    return collect(events).content.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
  };

  it('calls after some words, with an id of the run', async () => {
    const engine = await models.start(['Let me', ' look.', ...call('get_weather', '{"city": "|Oslö|"|}')]);
    const events = await runOf(engine, ask({ tools: [weather, tool('get_time')] }));
    expect(textOf(events)).toBe('Let me look.');
    expect(callsOf(events)).toEqual([
      { type: 'tool-call', id: 'call_run1_1', name: 'get_weather', arguments: '{"city":"Oslö"}' },
    ]);
    expect(collect(events).finish.reason).toBe('tool-calls');
  });

  it('calls at once if it must, and only what it may', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const tools = [tool('get_time'), weather, tool('get_date')];
    const choices: ToolChoice[] = [
      { type: 'tool', name: 'get_date' },
      { type: 'required', allowed: ['get_date'] },
    ];
    for (const toolChoice of choices) {
      const events = await runOf(engine, ask({ tools, toolChoice }));
      expect(callsOf(events)).toMatchObject([{ name: 'get_date', arguments: '{}' }]);
    }
  });

  it('calls several times in one answer, or once if no more is wanted', async () => {
    const parts = [
      '<tool_call>',
      '\n{"name": "',
      'get_time',
      '", "arguments": ',
      '{}',
      '}\n',
      '</tool_call>',
    ];
    // The line break leads back to the first part.
    const engine = await models.start([...parts, '\n'], { chatWrapper: 'qwen' });
    const callsWith = async (rest: Partial<InferenceRequest>) => {
      const request = ask({
        tools: [tool('get_time')],
        sampling: { ...greedy, maxOutputTokens: 20 },
        ...rest,
      });
      return callsOf(await runOf(engine, request));
    };
    const ids = (await callsWith({})).map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(2);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await callsWith({ parallelToolCalls: false })).toHaveLength(1);
  });

  it('calls nothing if it may not', async () => {
    const engine = await models.start([...call('get_weather', '{}'), endOfTurn]);
    const events = await runOf(engine, ask({ tools: [weather], toolChoice: { type: 'none' } }));
    expect(callsOf(events)).toEqual([]);
    expect(textOf(events)).toContain('||call: get_weather(');
  });

  it('leaves out an argument that it does not need', async () => {
    const args = '{"city": "|Oslo|"|, "unit": |null|}';
    const engine = await models.start(call('get_weather', args));
    const unit = { enum: ['c', 'f'] };
    const events = await runOf(engine, ask({ tools: [tool('get_weather', { city, unit }, ['city'])] }));
    expect(callsOf(events)).toMatchObject([{ arguments: '{"city":"Oslo"}' }]);
  });

  it.each<[string, JsonObject, string[], string]>([
    [
      'a character of two units at the bound of a string',
      { type: 'string', maxLength: 1 },
      ['{"it": "', '<0xF0>', '<0x9F>', '<0x98>', '<0x80>', '"', '}'],
      '{"it":"😀"}',
    ],
    ['an integer with an exponent', { type: 'integer' }, ['{"it": ', '5', 'e', '-', '1', '}'], '{"it":0.5}'],
  ])('keeps %s, which the grammar allows', async (_what, schema, pieces, expected) => {
    const engine = await models.start(['||call: ', 'f', '(', ...pieces, '\n\n\n\n', ')']);
    const events = await runOf(engine, ask({ tools: [tool('f', { it: schema }, ['it'])] }));
    expect(callsOf(events)).toMatchObject([{ name: 'f', arguments: expected }]);
    expect(collect(events).finish.reason).toBe('tool-calls');
  });

  it.each([
    ['so that it is no call without arguments', 7, '{"city": "Oslo and so'],
    ['also amid a character', 8, '{"city": "Oslo and so😀'],
    ['whole, if nothing is missing', 15, '{"city":"Oslo and so😀"}'],
  ])('ends a call that its limit cuts off with what it has, %s', async (_how, maxOutputTokens, expected) => {
    const args = '{"city": "|Oslo| and| so|<0xF0>|<0x9F>|<0x98>|<0x80>|"|, "unit": |null|}';
    const engine = await models.start(call('get_weather', args));
    const tools = [tool('get_weather', { city, unit: { enum: ['c', 'f'] } }, ['city'])];
    const events = await runOf(engine, ask({ tools, sampling: { ...greedy, maxOutputTokens } }));
    expect(callsOf(events)).toMatchObject([{ name: 'get_weather', arguments: expected }]);
    expect(collect(events).finish.reason).toBe('length');
  });

  it('continues after the result of its call', async () => {
    const engine = await models.start([...story, endOfTurn]);
    const request = ask({ tools: [weather] });
    const called: Message = {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'c1', name: 'get_weather', arguments: '{"city":"Oslo"}' }],
    };
    const answered: Message = {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c1', content: [{ type: 'text', text: 'rain' }] }],
    };
    const messages = [...request.messages, called, answered];
    const events = await runOf(engine, { ...request, messages });
    expect(textOf(events)).toBe(told);
  });

  it.each(['', 'get weather', 'get\nweather', 'get\tweather', 'get\0weather', 'get\ud800weather'])(
    'refuses a tool named %j',
    async (name) => {
      const engine = await models.start([...story, endOfTurn]);
      const events = await runOf(engine, ask({ tools: [tool(name)] }));
      expect(events).toMatchObject([{ type: 'error', error: { kind: 'invalid-request' } }]);
    },
  );

  it.each<[string, Partial<InferenceRequest>]>([
    ['a call of what is not there', { toolChoice: { type: 'tool', name: 'nope' } }],
    ['tools and a JSON format at once', { output: { type: 'json' } }],
    ['log probabilities', { logprobs: { alternatives: 1 } }],
    [
      'a picture',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'media', mediaType: 'image/png', source: { type: 'url', url: 'x' } }],
          },
        ],
      },
    ],
  ])('refuses %s', async (_what, rest) => {
    const engine = await models.start([...story, endOfTurn]);
    const events = await runOf(engine, ask({ tools: [weather], ...rest }));
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'invalid-request' } }]);
  });
});
