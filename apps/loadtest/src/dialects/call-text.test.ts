import { describe, expect, it } from 'vitest';
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';

const name = 'find';
const args = { place: 'Bern', days: 2 };
const json = JSON.stringify(args);

/** The same call of a tool, under another identifier in each answer. */
const whole = {
  openai: (id: string) =>
    openai.readAnswer({
      choices: [{ message: { tool_calls: [{ id, function: { name, arguments: json } }] } }],
    }),
  anthropic: (id: string) =>
    anthropic.readAnswer({ type: 'message', content: [{ type: 'tool_use', id, name, input: args }] }),
  gemini: (id: string) =>
    gemini.readAnswer({ candidates: [{ content: { parts: [{ functionCall: { id, name, args } }] } }] }),
};

describe('the text of a call', () => {
  it.each(Object.entries(whole))(
    'is its name and its arguments in %s, whatever its identifier',
    (_, read) => {
      expect(read('call_1').text).toBe(`find${json}`);
      expect(read('call_2').text).toBe(`find${json}`);
    },
  );

  it('is the same in a stream of generate content, where a call without arguments may leave them out', () => {
    const event = (functionCall: object) =>
      gemini.readEvent(JSON.stringify({ candidates: [{ content: { parts: [{ functionCall }] } }] })).text;
    expect(event({ id: 'call_1', name, args })).toBe(`find${json}`);
    expect(event({ name })).toBe('find{}');
  });
});
