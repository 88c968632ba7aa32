import type { InferenceRequest } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { withoutQuotations } from './quotations.ts';

const asking = (text: string): InferenceRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
  sampling: {},
});

describe('a refusal without its quotations', () => {
  const quoted = 'one two three four fives';

  it('misses a piece of a prompt, wherever in the prompt it stands', () => {
    for (let before = 0; before <= 2 * quoted.length; before += 1) {
      const request = asking(`${'-'.repeat(before)}${quoted}${'+'.repeat(before % 5)}`);
      expect(withoutQuotations(`You said "${quoted}", we say no`, request)).toBe('You said "…", we say no');
    }
  });

  it('keeps what a prompt has by chance', () => {
    const refusal = `We do not take ${quoted.slice(1)}`;
    expect(withoutQuotations(refusal, asking(`${quoted}!`))).toBe(refusal);
  });

  it('misses a text that stands in it whole, but not inside of a longer word', () => {
    expect(withoutQuotations('top_k of "top" is refused', asking('top'))).toBe('top_k of "…" is refused');
  });

  it('misses names and texts that stand in any JSON of a request, but keeps the words of schemas', () => {
    const request: InferenceRequest = {
      ...asking(''),
      extensions: { openai: { top_k: [{ 'one two': 'three_four' }], verbosity: 'high' } },
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: { properties: { five_six: { minLength: 1, default: 'b c' } } },
        },
      ],
    };
    const refusal = 'top_k: one two, three_four; verbosity "high"; five_six of minLength; b c';
    const itsOwn = 'top_k: …, …; verbosity "high"; … of minLength; …';
    expect(withoutQuotations(refusal, request)).toBe(itsOwn);
  });

  // With a look for every time, this would not end within the time limit of a test.
  it('looks only once for a word that a conversation has a hundred thousand times', () => {
    const part = { type: 'text' as const, text: 'e' };
    const content = Array.from({ length: 100_000 }, () => part);
    const request = { ...asking(''), messages: [{ role: 'user' as const, content }] };
    expect(withoutQuotations(`${'even '.repeat(4_000)}e`, request)).toBe(`${'even '.repeat(4_000)}…`);
  });
});
