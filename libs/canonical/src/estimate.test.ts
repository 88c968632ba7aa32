import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateTokens } from './estimate.ts';
import type { MediaPart } from './request.ts';

describe('the estimate of input tokens', () => {
  it('counts a token for every four characters, rounded up', () => {
    expect([
      estimateTokens(''),
      estimateTokens('a'),
      estimateTokens('abcd'),
      estimateTokens('abcde'),
    ]).toEqual([0, 1, 1, 2]);
  });

  it('adds messages, calls, results, media and tools', () => {
    const base = { model: 'm', sampling: {} };
    const text = estimateInputTokens({
      ...base,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(40) }] }],
    });
    expect(text).toBe(14);
    const rich = estimateInputTokens({
      ...base,
      messages: [
        {
          role: 'user',
          content: [{ type: 'media', mediaType: 'image/png', source: { type: 'url', url: 'x' } }],
        },
        { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'find', arguments: '{"a":1}' }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'a', content: [{ type: 'text', text: 'four' }] }],
        },
      ],
    });
    expect(rich).toBe(4 + 1000 + 4 + 1 + 2 + 4 + 1);
    const tools = [{ type: 'function' as const, name: 'find', parameters: { type: 'object' } }];
    expect(estimateInputTokens({ ...base, messages: [], tools })).toBeGreaterThan(10);
  });

  it('counts thinking as text, and an answer’s schema as its JSON', () => {
    const base = { model: 'm', sampling: {} };
    const thinking = {
      role: 'assistant' as const,
      content: [{ type: 'reasoning' as const, text: 'x'.repeat(40) }],
    };
    expect(estimateInputTokens({ ...base, messages: [thinking] })).toBe(4 + 10);
    const schema = { type: 'object', title: 'x'.repeat(40) };
    const output = { type: 'json' as const, schema };
    expect(estimateInputTokens({ ...base, messages: [], output })).toBe(JSON.stringify(schema).length / 4);
  });

  it('counts a text file as its text, and any other file as what it is', () => {
    const text = 'x'.repeat(4_000);
    const data = Buffer.from(text).toString('base64');
    const tokensOf = (part: MediaPart) =>
      estimateInputTokens({ model: 'm', sampling: {}, messages: [{ role: 'user', content: [part] }] }) - 4;
    const file = (mediaType: string): MediaPart => ({
      ...{ type: 'media', mediaType },
      source: { type: 'base64', data },
    });
    expect(tokensOf(file('text/plain'))).toBeCloseTo(estimateTokens(text), -1);
    expect(tokensOf(file('TEXT/markdown; charset=utf-8'))).toBe(tokensOf(file('text/plain')));
    expect(tokensOf(file('image/png'))).toBe(1000);
    expect(tokensOf(file('application/pdf'))).toBe(1500);
  });

  it('is never zero', () => {
    expect(estimateInputTokens({ model: 'm', sampling: {}, messages: [] })).toBe(1);
  });
});
