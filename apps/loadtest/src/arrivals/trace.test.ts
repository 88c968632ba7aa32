import { describe, expect, it } from 'vitest';
import { parseTrace } from './trace.ts';

const instants = (text: string) => parseTrace(text, 1).entries.map(({ atMs }) => atMs);

describe('a trace', () => {
  it('without a header is a list of seconds', () => {
    expect(instants('# comment\n1.5\n2\n\n1\n')).toEqual([0, 500, 1000]);
  });

  it('reads dates and lengths by the names of public traces', () => {
    const text =
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0,374,44\n2023-11-16 18:15:47.5,396,109\n';
    expect(parseTrace(text, 3).entries).toEqual([
      { atMs: 0, promptTokens: 374, outputTokens: 44 },
      { atMs: 500, promptTokens: 396, outputTokens: 109 },
    ]);
  });

  it('takes numbers under a name for dates as seconds, and larger ones as milliseconds', () => {
    expect(instants('Timestamp\n0\n0.5\n1\n2\n')).toEqual([0, 500, 1000, 2000]);
    expect(instants('time\n1700000000\n1700000001.5\n')).toEqual([0, 1500]);
    expect(instants('timestamp\n1700000000000\n1700000001500\n')).toEqual([0, 1500]);
    expect(instants('2023-11-16 18:15:46.0\n2023-11-16 18:15:47.5\n')).toEqual([0, 1500]);
  });

  it('reads lengths whose names have blanks, none below one, and says what it took them for', () => {
    const text = '\ufeffTimestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n45,GPT-4,1087,0\n';
    const { entries, meaning } = parseTrace(text, 1);
    expect(entries).toEqual([
      { atMs: 0, promptTokens: 472, outputTokens: 18 },
      { atMs: 40_000, promptTokens: 1087, outputTokens: 1 },
    ]);
    expect(meaning).toBe(
      'Timestamp in seconds, prompt tokens from Request tokens, output tokens from Response tokens',
    );
  });

  it('refuses what has no instants', () => {
    expect(() => parseTrace('tokens\n3\n', 1)).toThrow('no column');
    expect(() => parseTrace('at_ms\n3\nx\n', 1)).toThrow('entry 2');
    expect(() => parseTrace('# nothing\n', 1)).toThrow('no arrivals');
  });

  it('reads cells in quotes, which may hold commas', () => {
    const text = '"Note","TIMESTAMP","ContextTokens"\r\n"a, ""b""","1.5","7"\r\n,2,8\r\n';
    expect(parseTrace(text, 1).entries).toEqual([
      { atMs: 0, promptTokens: 7 },
      { atMs: 500, promptTokens: 8 },
    ]);
  });

  it.each([
    ['at_s,output_tokens\n0,5\n1,five\n', 'entry 2 of the trace has a number of tokens that is none'],
    ['at_s,prompt_tokens\n0,Infinity\n', 'entry 1 of the trace has a number of tokens that is none'],
    ['at_s\n0\nInfinity\n', 'entry 2 of the trace has no instant'],
  ])('refuses %j', (text, message) => {
    expect(() => parseTrace(text, 1)).toThrow(message);
  });

  it('has no parts of tokens', () => {
    const { entries } = parseTrace('at_s,prompt_tokens,output_tokens\n0,5.5,0.2\n', 1);
    expect(entries).toEqual([{ atMs: 0, promptTokens: 6, outputTokens: 1 }]);
  });
});
