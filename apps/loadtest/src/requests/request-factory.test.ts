import type { WireRequest } from '@sluice/http';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../random.ts';
import { parseScenario, type ScenarioInput } from '../scenario/scenario.ts';
import { parseTarget } from '../scenario/target.ts';
import { createRequestFactory } from './request-factory.ts';

function factory(input: ScenarioInput, keys: string[] = [], promptFiles: Record<string, string[]> = {}) {
  const scenario = parseScenario(input);
  const target = parseTarget('http://127.0.0.1:8080/base/');
  return createRequestFactory({ scenario, target, keys, promptFiles, random: createRandom(1) });
}

function parts({ text, body: large }: WireRequest) {
  const [head = '', rest = ''] = text.split('\r\n\r\n');
  const body = large?.toString() ?? rest;
  return { head, body: JSON.parse(body), length: Buffer.byteLength(body) };
}

describe('requests', () => {
  it('fill the template, the limit and further fields, in any alphabet', () => {
    const template = 'Grüße {index}: [[sim tokens={tokens} seed={seed}]] "{text}"';
    const traffic = [
      { prompt: { template, tokens: '3', seeds: 1 }, outputTokens: '12', body: { temperature: 0.5 } },
    ];
    const request = factory({ traffic })(4);
    const { head, body, length } = parts(request.wire);
    expect(body).toMatchObject({ max_tokens: 12, temperature: 0.5, stream: true });
    expect(body.messages[0].content).toMatch(/^Grüße 4: \[\[sim tokens=12 seed=0\]\] "\w+ \w+ \w+"$/);
    expect(head).toContain(`content-length: ${length}`);
    expect(head).toContain('POST /base/v1/chat/completions HTTP/1.1');
    expect(request.wire.isAscii).toBe(false);
  });

  it('lay further fields over those of the format, however deep', () => {
    const body = { generationConfig: { temperature: 0 } };
    const gemini = factory({ traffic: [{ format: 'gemini', outputTokens: '7', body }] })(0);
    expect(parts(gemini.wire).body.generationConfig).toEqual({ maxOutputTokens: 7, temperature: 0 });
    const quiet = { stream_options: { include_usage: false }, messages: [] };
    const openai = parts(factory({ traffic: [{ body: quiet }] })(0).wire).body;
    expect(openai).toMatchObject({ ...quiet, stream: true });
  });

  it('carry the headers of the scenario, before those of the format', () => {
    const headers = { 'X-Team': 'a', authorization: 'Basic dTpw' };
    const { text } = factory({ headers }, ['sk-1'])(0).wire;
    expect(text).toContain('\r\nx-team: a\r\n');
    expect(text.match(/authorization: .*/g)).toEqual(['authorization: Basic dTpw']);
  });

  it('go to the very path that the target names', () => {
    const target = parseTarget('http://127.0.0.1/v3/chat/completions?key=k');
    const scenario = parseScenario({});
    const make = createRequestFactory({
      scenario,
      target,
      keys: [],
      promptFiles: {},
      random: createRandom(1),
    });
    expect(make(0).wire.text).toContain('POST /v3/chat/completions?key=k HTTP/1.1');
  });

  it('carry the query of the target, beside that of the format', () => {
    const scenario = parseScenario({ traffic: [{ format: 'gemini', model: 'm' }] });
    const target = parseTarget('http://127.0.0.1/v1beta?key=k');
    const make = createRequestFactory({
      scenario,
      target,
      keys: [],
      promptFiles: {},
      random: createRandom(1),
    });
    expect(make(0).wire.text).toContain('POST /v1beta/models/m:streamGenerateContent?alt=sse&key=k HTTP/1.1');
  });

  it.each([
    ['openai', 'authorization: Bearer sk-1'],
    ['anthropic', 'x-api-key: sk-1'],
    ['gemini', 'x-goog-api-key: sk-1'],
  ] as const)('carry the key as %s clients do', (format, header) => {
    expect(factory({ traffic: [{ format }] }, ['sk-1'])(0).wire.text).toContain(`\r\n${header}\r\n`);
  });

  it('use keys in turn, or a few of them much', () => {
    const keys = Array.from({ length: 50 }, (_, at) => `sk-${at}`);
    const used = (pick: 'in-turn' | 'skewed') => {
      const make = factory({ keys: { pick } }, keys);
      return Array.from({ length: 500 }, (_, at) => /Bearer (\S+)/.exec(make(at).wire.text)?.[1]);
    };
    const count = (found: (string | undefined)[], key: string) => found.filter((name) => name === key).length;
    expect(new Set(used('in-turn')).size).toBe(50);
    const skewed = used('skewed');
    expect(count(skewed, 'sk-0')).toBeGreaterThan(5 * count(skewed, 'sk-40'));
  });

  it('take lengths from a trace and prompts from a file', () => {
    const make = factory({ traffic: [{ prompt: { file: 'p' } }] }, [], { p: ['one', 'two'] });
    expect(parts(make(3).wire).body.messages[0].content).toBe('two');
    const traced = parts(factory({})(0, { atMs: 0, promptTokens: 5, outputTokens: 6 }).wire).body;
    expect(traced.messages[0].content.split(' ')).toHaveLength(5);
    expect(traced.max_tokens).toBe(6);
  });

  it('generate as many words as asked, also very many', () => {
    for (const words of [1, 100, 8192, 30_000]) {
      const traffic = [{ prompt: { tokens: String(words) } }];
      expect(parts(factory({ traffic })(0).wire).body.messages[0].content.split(' ')).toHaveLength(words);
    }
  });

  it('let the stated share of clients leave or read slowly', () => {
    const traffic = [{ abort: { share: 0.5, afterMs: '10' }, slow: { share: 1, bytesPerSecond: 9 } }];
    const make = factory({ traffic });
    const requests = Array.from({ length: 1000 }, (_, at) => make(at));
    const leaving = requests.filter((request) => request.abortAfterMs === 10).length;
    expect(leaving).toBeGreaterThan(430);
    expect(leaving).toBeLessThan(570);
    expect(requests.filter((request) => request.readBytesPerSecond === 9)).toHaveLength(1000 - leaving);
  });
});
