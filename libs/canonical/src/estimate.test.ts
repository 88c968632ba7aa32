import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateTokens } from './estimate.ts';

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
    expect(rich).toBe(4 + 256 + 4 + 1 + 2 + 4 + 1);
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

  it('is never zero', () => {
    expect(estimateInputTokens({ model: 'm', sampling: {}, messages: [] })).toBe(1);
  });
});
