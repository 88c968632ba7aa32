import type { FormatId, InferenceRequest, Json } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { wireOf } from '../golden-run.ts';
import { serverCodecs } from '../registry.ts';
import { inClientWords } from './client-words.ts';

/** More than ten of everything, so that indices have two digits. */
const many = <Thing>(thing: Thing): Thing[] => Array.from({ length: 12 }, () => thing);

const picture = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } };
const results = many({ type: 'text', text: 'seen' }) as Json[];
const anthropic: Json = {
  model: 'm',
  max_tokens: 9,
  system: 'be brief',
  tools: [{ name: 'f', input_schema: { type: 'object' } }],
  messages: [
    ...many({ role: 'user', content: 'hi' }),
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c', content: [...results, picture] },
        ...many({ type: 'text', text: 'and' }),
        picture,
      ],
    },
  ],
};
const openai: Json = {
  model: 'm',
  messages: [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] },
  ],
};

function decode(format: FormatId, path: string, body: Json): InferenceRequest {
  const codec = serverCodecs.find((each) => each.format === format);
  if (!codec) throw new Error(`no format ${format}`);
  return codec.decodeRequest(wireOf(format, path, body)).request;
}

/** What a client gets for a refusal that names `param`. */
function told(format: FormatId, request: InferenceRequest, param: string): string[] {
  const error = { kind: 'invalid-request', message: `${param}: no, not ${param}`, param } as const;
  const { param: place = '', message, kind } = inClientWords(error, request, format);
  return [kind, place, message];
}

describe('a refusal by an engine', () => {
  const request = decode('anthropic', '/messages', anthropic);
  const inWords = (param: string) => told('anthropic', request, param);
  /** In canonical terms, in which results are turns of their own. */
  const [result = '', media = ''] = ['tool-result', 'media'].map((type) => {
    const message = request.messages.findIndex(({ content }) => content.some((part) => part.type === type));
    const part = request.messages[message]?.content.findIndex((each) => each.type === type);
    return `messages[${message}].content[${part}]`;
  });

  it('names a part by its place in the client’s request', () => {
    expect(media).toMatch(/\[\d\d\].*\[\d\d\]/);
    expect(inWords(`${media}.source`)).toEqual([
      'invalid-request',
      'messages[13].content[13]',
      `messages[13].content[13]: no, not ${media}.source`,
    ]);
  });

  it('names a part within the result of a call', () => {
    expect(inWords(`${result}.content[12]`)[1]).toBe('messages[13].content[0].content[12]');
  });

  it('names a tool', () => {
    const tools = [{ functionDeclarations: many({ name: 'f' }) }, { googleSearch: {} }];
    const generate = decode('gemini', '/v1beta/models/m:generateContent', { contents: 'hi', tools });
    expect(told('gemini', generate, 'tools[12]')[1]).toBe('tools[1]');
    expect(told('gemini', generate, 'a tools[12]')[1]).toBe('a tools[12]');
    expect(told('gemini', generate, 'tools[12].name')[1]).toBe('tools[12].name');
  });

  it('uses the format’s word for anything that is no part', () => {
    const chat = decode('openai', '/chat/completions', openai);
    expect(told('openai', chat, 'sampling.frequencyPenalty')).toEqual([
      'invalid-request',
      'frequency_penalty',
      'frequency_penalty: no, not sampling.frequencyPenalty',
    ]);
    expect(told('openai', chat, 'messages[0].content[3].toolName')[1]).toBe('tool_call_id');
    expect(inWords(`${result}.toolName`)[1]).toBe('tool_use_id');
    expect(inWords('sampling.maxOutputTokens')[1]).toBe('max_tokens');
  });

  it.each([
    'messages[0].content[0]',
    'messages[99].content[0]',
    `${result}.content[0]`,
    'within messages[13].content[13]',
    'tools[0]',
    'tools[99]',
    'sampling.frequencyPenalty',
    'a messages[0].toolName',
  ])('keeps its own words about %s, which nobody remembered', (param) => {
    expect(inWords(param)).toEqual(['invalid-request', param, `${param}: no, not ${param}`]);
  });

  it('names nothing in a request that has no tools', () => {
    const chat = decode('openai', '/chat/completions', openai);
    expect(told('openai', chat, 'tools[0]')[1]).toBe('tools[0]');
    expect(told('openai', chat, 'messages[0].content[0]')[1]).toBe('messages[0].content[0]');
  });

  it('is left alone if it names no place', () => {
    const error = { kind: 'upstream-failed', message: 'messages[0]' } as const;
    expect(inClientWords(error, request, 'anthropic')).toBe(error);
  });
});
