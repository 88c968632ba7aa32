import type { GenerationEvent } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { estimateTokensOf } from './token-estimate.ts';

const text = (said: string, more: object = {}): GenerationEvent => ({
  type: 'text-delta',
  block: 0,
  text: said,
  ...more,
});

function tokensOf(event: GenerationEvent, isTokenByToken: boolean): number | undefined {
  estimateTokensOf([event], isTokenByToken);
  return 'tokens' in event ? event.tokens : undefined;
}

describe('the tokens of a delta', () => {
  const sentence = 'The whole answer came at once, as it does from some servers.';

  it('are one if its server sends one at a time, whatever its length', () => {
    for (const said of ['a', ' international', ' '.repeat(32)]) expect(tokensOf(text(said), true)).toBe(1);
  });

  it('depend on its length if it is longer than any token, or if its server sends pieces', () => {
    expect(tokensOf(text(sentence), true)).toBe(15);
    expect(tokensOf({ type: 'tool-call-delta', block: 0, arguments: sentence }, true)).toBe(15);
    expect(tokensOf({ type: 'reasoning-delta', block: 0, text: sentence }, true)).toBe(15);
    expect(tokensOf(text(' international'), false)).toBe(4);
    expect(tokensOf(text('a'), false)).toBe(1);
  });

  it('are those that its server reports', () => {
    expect(tokensOf(text(sentence, { tokens: 12 }), true)).toBe(12);
    expect(tokensOf(text(sentence, { logprobs: [{}, {}] }), true)).toBe(2);
  });
});
