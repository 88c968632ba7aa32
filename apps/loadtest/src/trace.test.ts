import { describe, expect, it } from 'vitest';
import { parseTrace } from './trace.ts';

describe('a trace', () => {
  it('without a header is a list of seconds', () => {
    expect(parseTrace('# comment\n1.5\n2\n\n1\n', 1)).toEqual([{ atMs: 0 }, { atMs: 500 }, { atMs: 1000 }]);
  });

  it('reads dates and lengths by the names of public traces', () => {
    const text =
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0,374,44\n2023-11-16 18:15:47.5,396,109\n';
    expect(parseTrace(text, 3)).toEqual([
      { atMs: 0, promptTokens: 374, outputTokens: 44 },
      { atMs: 500, promptTokens: 396, outputTokens: 109 },
    ]);
  });

  it('refuses what has no instants', () => {
    expect(() => parseTrace('tokens\n3\n', 1)).toThrow('no column');
    expect(() => parseTrace('at_ms\n3\nx\n', 1)).toThrow('entry 2');
    expect(() => parseTrace('# nothing\n', 1)).toThrow('no arrivals');
  });
});
