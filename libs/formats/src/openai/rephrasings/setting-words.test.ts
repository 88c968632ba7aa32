import type { JsonObject } from '@sluice/canonical';
import { describe, expect, it, test } from 'vitest';
import { rephrase } from '../rephrase.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const said = (body: JsonObject, refusal: string, isForeign = false): JsonObject | undefined => {
  const other = rephrase({ messages, ...body }, refusal, isForeign);
  if (!other) return undefined;
  const { messages: _messages, ...rest } = other;
  return rest;
};

describe('what the first request of a dialect says in newer words', () => {
  it('is said without the wish for usage, if the server names that and it was wished', () => {
    const refusal = 'Unrecognized request argument supplied: stream_options';
    const body = { stream: true, stream_options: { include_usage: true } };
    expect(said(body, refusal)).toEqual({ stream: true });
    expect(said({ stream: true }, refusal)).toBeUndefined();
    expect(said(body, 'Unrecognized request argument supplied: logprobs')).toBeUndefined();
  });

  it('or, of the output limit, older ones: that is renamed, if the server names the newer name', () => {
    const refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    expect(said({ max_tokens: 5, n: 1 }, refusal)).toEqual({ max_completion_tokens: 5, n: 1 });
    expect(said({ max_completion_tokens: 5 }, refusal)).toBeUndefined();
    expect(said({ max_tokens: 5 }, 'max_tokens is too large')).toBeUndefined();
  });
});

describe('a stream that a server refuses', () => {
  const ofTools = 'Streaming with tools is not supported';
  const tools = [{ type: 'function', function: { name: 'f' } }];

  it('because of functions is asked for whole if there are any', () => {
    expect(said({ stream: true, tools }, ofTools)).toEqual({ tools });
    expect(said({ stream: true, tools }, 'A tool call can not be made: streaming is not supported')).toEqual({
      tools,
    });
    expect(said({ stream: true }, ofTools)).toBeUndefined();
    expect(said({ stream: false, tools }, ofTools)).toBeUndefined();
  });
});

describe('a forced call of a certain function', () => {
  const refusal = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required";
  const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));
  const choice = (name: string) => ({ type: 'function', function: { name } });

  it('leaves that function alone, of which one is to be called', () => {
    expect(said({ tools, tool_choice: choice('g') }, refusal)).toEqual({
      tools: [tools[1]],
      tool_choice: 'required',
    });
  });

  it.each<JsonObject>([
    { tools, tool_choice: choice('h') },
    { tools, tool_choice: 'required' },
    { tools, tool_choice: {} },
    { tools: [{}, 'odd', ...tools], tool_choice: { type: 'function' } },
    { tools: 'odd', tool_choice: choice('f') },
    { tool_choice: choice('f') },
  ])('stays where there is no such function: %j', (body) => {
    expect(said(body, refusal)).toBeUndefined();
  });

  it('stays where the refusal is about something else', () => {
    expect(said({ tools, tool_choice: choice('g') }, 'tools are too many')).toBeUndefined();
  });
});

describe('a setting that changes nothing', () => {
  it.each([
    ['presence_penalty', 0, 0.5],
    ['frequency_penalty', 0, 0.5],
    ['top_p', 1, 0.5],
  ])('%s is left out at %d, and stays at %d', (setting, idle, busy) => {
    const refusal = `Unsupported parameter: '${setting}'`;
    expect(said({ [setting]: idle, n: 1 }, refusal)).toEqual({ n: 1 });
    expect(said({ [setting]: busy, n: 1 }, refusal)).toBeUndefined();
    expect(said({ [setting]: idle }, "Unsupported parameter: 'n'")).toBeUndefined();
    expect(said({ [setting]: idle }, `'${setting}' is odd`)).toBeUndefined();
  });

  it.each(['`top_p` must be > 0.0 and < 1.0', '`top_p` must be > 0 and < 1'])(
    'a whole top_p is left out of what has to be less: %s',
    (refusal) => {
      expect(said({ top_p: 1, n: 1 }, refusal)).toEqual({ n: 1 });
      expect(said({ top_p: 2 }, refusal)).toBeUndefined();
    },
  );
});

describe('a setting that an answer can do without', () => {
  const settings = ['user', 'seed', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty'];

  it.each(settings)('%s is left out for a client of another format, and for no other', (setting) => {
    for (const refusal of [
      `Unsupported parameter: '${setting}'`,
      `Unknown field: body.${setting}.`,
      `Unsupported: ${setting}`,
    ]) {
      expect(said({ [setting]: 0.7, n: 1 }, refusal, true)).toEqual({ n: 1 });
      expect(said({ [setting]: 0.7, n: 1 }, refusal)).toBeUndefined();
      expect(said({ n: 1 }, refusal, true)).toBeUndefined();
    }
  });
});

describe('a temperature for a client of another format', () => {
  it.each([
    ['temperature must be less than or equal to 1', 1],
    ['temperature: must be less than or equal to 1.25', 1.25],
    ['temperature should be between 0 and 1', 1],
    ['temperature should be between 0.0 and 1.5', 1.5],
    ['temperature should be between 0 and 10', undefined],
  ])('becomes the highest that is taken: %s', (refusal, most) => {
    const expected = most === undefined ? undefined : { temperature: most };
    expect(said({ temperature: 2 }, refusal, true)).toEqual(expected);
    expect(said({ temperature: 1 }, refusal, true)).toBeUndefined();
  });

  it('becomes positive if it has to be', () => {
    const refusal = '`temperature` must be strictly positive';
    expect(said({ temperature: 0 }, refusal, true)).toEqual({ temperature: 0.01 });
    expect(said({ temperature: 0 }, 'temperature must be less than or equal to 1', true)).toBeUndefined();
  });

  test('is none that was not given, or is no number', () => {
    for (const body of [{}, { temperature: 'hot' }])
      for (const refusal of ['temperature must be less than or equal to 1', 'temperature: strictly positive'])
        expect(said(body, refusal, true)).toBeUndefined();
  });
});
