import { describe, expect, it } from 'vitest';
import { outputLimit } from './output-limit.ts';
import type { InferenceRequest } from './request.ts';

/** A request with a prompt of this many tokens, by our own estimate. */
function ask(inputTokens: number, maxOutputTokens?: number): InferenceRequest {
  const text = 'word'.repeat(inputTokens - 4);
  return {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    sampling: maxOutputTokens === undefined ? {} : { maxOutputTokens },
  };
}

describe('the limit of an answer', () => {
  it('is absent if neither request nor model has one, whatever the context', () => {
    expect(outputLimit(ask(10), {})).toBeUndefined();
    expect(outputLimit(ask(10), { contextTokens: 100 })).toBeUndefined();
  });

  it('is the lower of what is asked for and what the model allows', () => {
    expect(outputLimit(ask(10, 50), {})).toBe(50);
    expect(outputLimit(ask(10), { maxOutputTokens: 70 })).toBe(70);
    expect(outputLimit(ask(10, 50), { maxOutputTokens: 70 })).toBe(50);
    expect(outputLimit(ask(10, 90), { maxOutputTokens: 70 })).toBe(70);
  });

  it('leaves room for the prompt in the context', () => {
    const limits = { contextTokens: 10_000, maxOutputTokens: 9000 };
    expect(outputLimit(ask(8004), limits)).toBe(1996);
    expect(outputLimit(ask(8004, 32_000), limits)).toBe(1996);
    expect(outputLimit(ask(8004, 100), limits)).toBe(100);
    expect(outputLimit(ask(500), limits)).toBe(9000);
    expect(outputLimit(ask(5, 32_000), { contextTokens: 10_000 })).toBe(9995);
  });

  it('keeps a part of the context for the answer even if the estimated prompt leaves less', () => {
    for (const inputTokens of [9900, 50_000])
      expect(outputLimit(ask(inputTokens, 4000), { contextTokens: 10_000 })).toBe(625);
    expect(outputLimit(ask(50), { contextTokens: 7, maxOutputTokens: 7 })).toBe(1);
  });

  it('is not cut for a document of many bytes that does not tell its pages', () => {
    const source = { type: 'base64' as const, data: `JVBERi0${'A'.repeat(12_000_000)}` };
    const request = ask(5, 16_000);
    request.messages = [{ role: 'user', content: [{ type: 'media', mediaType: 'application/pdf', source }] }];
    expect(outputLimit(request, { contextTokens: 128_000 })).toBe(16_000);
  });

  it('uses the prompt’s true token count if it is given', () => {
    expect(outputLimit(ask(10, 900), { contextTokens: 1000 }, 600)).toBe(400);
  });
});
