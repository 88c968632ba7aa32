import { SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { parseScenario } from './scenario.ts';
import { overlay, type ScenarioFlagValues } from './scenario-flags.ts';

const scenario = (flags: ScenarioFlagValues, file = {}) => parseScenario(overlay(file, flags));

describe('a scenario from flags', () => {
  it('needs none', () => {
    expect(scenario({})).toEqual(parseScenario({}));
    expect(scenario({}).load).toMatchObject({ kind: 'open', profile: { kind: 'constant', rate: 10 } });
  });

  it('knows every kind of load', () => {
    expect(scenario({ rate: '50', arrivals: 'constant' }).load).toEqual({
      kind: 'open',
      spacing: 'constant',
      profile: { kind: 'constant', rate: 50 },
    });
    expect(scenario({ ramp: '10..500', duration: '1m' }).load).toMatchObject({
      profile: { kind: 'ramp', from: 10, to: 500, overMs: 60_000 },
    });
    expect(scenario({ steps: '100x30s,200x1m' }).load).toMatchObject({
      profile: {
        steps: [
          { rate: 100, forMs: 30_000 },
          { rate: 200, forMs: 60_000 },
        ],
      },
    });
    expect(scenario({ users: '8', think: 'exponential:2s', burst: true }).load).toMatchObject({
      kind: 'closed',
      users: 8,
      thinkMs: { kind: 'exponential', mean: 2000 },
      rampUpMs: 0,
    });
    expect(scenario({ users: '8', 'ramp-up': '2.5s' }).load).toMatchObject({ users: 8, rampUpMs: 2500 });
    expect(scenario({ trace: 'a.csv', 'trace-speed': '2' }).load).toEqual({
      kind: 'trace',
      file: 'a.csv',
      speed: 2,
    });
  });

  it('lays flags over a file, traffic flags over each of its entries', () => {
    const file = {
      target: 'http://127.0.0.1:1',
      load: { kind: 'closed', users: 3, thinkMs: '1s' },
      slo: { ttftMs: 300, attainment: 0.9 },
      traffic: [{ model: 'a' }, { model: 'b', prompt: { tokens: '7' } }],
    };
    const found = scenario({ 'output-tokens': '9', slo: 'e2e=2s', seeds: '4', think: '5ms' }, file);
    expect(found.target).toBe('http://127.0.0.1:1');
    expect(found.load).toMatchObject({ users: 3, thinkMs: { value: 5 } });
    expect(found.slo).toEqual({ ttftMs: 300, endToEndMs: 2000, attainment: 0.9 });
    expect(found.traffic.map(({ model, outputTokens }) => [model, outputTokens])).toEqual([
      ['a', { kind: 'fixed', value: 9 }],
      ['b', { kind: 'fixed', value: 9 }],
    ]);
    expect(found.traffic[1]?.prompt).toMatchObject({ tokens: { value: 7 }, seeds: 4 });
    expect(scenario({ users: '5' }, file).load).toMatchObject({ users: 5, thinkMs: { value: 1000 } });
  });

  it('lays flags about a part of a file over that part', () => {
    const file = {
      load: { kind: 'trace', file: 'a.csv' },
      traffic: [{ abort: { share: 0.3, afterMs: '1s' }, slow: { share: 0.1, bytesPerSecond: 50 } }],
    };
    const flags = { 'trace-speed': '3', 'abort-after': '2s', 'slow-share': '0.2' };
    const { load, traffic } = scenario(flags, file);
    expect(load).toEqual({ kind: 'trace', file: 'a.csv', speed: 3 });
    expect(traffic[0]?.abort).toMatchObject({ share: 0.3, afterMs: { value: 2000 } });
    expect(traffic[0]?.slow).toEqual({ share: 0.2, bytesPerSecond: 50 });
  });

  it('adds headers to those of a file', () => {
    const file = { headers: { 'X-Team': 'a', 'X-Tier': 'b' } };
    const { headers } = scenario({ header: ['x-team=c', 'Authorization=Basic dTpw=='] }, file);
    expect(headers).toEqual({ 'x-team': 'c', 'x-tier': 'b', authorization: 'Basic dTpw==' });
  });

  it.each(['x-key', '=secret', 'x key=secret', 'content-length=secret', 'x-key=secret\r\nx: y'])(
    'refuses the header %j without repeating its value',
    (header) => {
      expect(() => scenario({ header: [header] })).toThrow(SluiceError);
      expect(() => scenario({ header: [header] })).not.toThrow(/secret/);
    },
  );

  it('changes the kind of load that a file names', () => {
    const file = { load: { kind: 'closed', users: 3 } };
    expect(scenario({ rate: '5' }, file).load).toMatchObject({ kind: 'open', profile: { rate: 5 } });
  });

  it('mixes formats evenly', () => {
    const { traffic } = scenario({ format: 'openai,gemini', model: 'm', single: true });
    expect(traffic.map(({ format, model, streamShare }) => [format, model, streamShare])).toEqual([
      ['openai', 'm', 0],
      ['gemini', 'm', 0],
    ]);
  });

  it.each([
    { rate: '10', users: '3' },
    { rate: 'fast' },
    { slo: 'speed=3s' },
    { body: '{' },
    { format: 'cobol' },
    { duration: 'long' },
    { 'abort-share': '0.5' },
    { 'abort-after': '5s' },
    { 'slow-rate': '500' },
    { single: true, 'stream-share': '0.5' },
    { warmup: '30s' },
    { duration: '0' },
  ])('refuses %j', (flags) => {
    expect(() => scenario(flags)).toThrow(SluiceError);
  });

  it.each([
    [{ think: '1s' }, '--think goes with --users'],
    [{ burst: true, rate: '5' }, '--burst goes with --users'],
    [{ 'trace-speed': '2' }, '--trace-speed goes with --trace'],
    [{ users: '5', arrivals: 'constant' }, '--arrivals goes with --rate, --ramp and --steps'],
    [{ ramp: '5' }, '--ramp goes from a rate to another: A..B'],
    [{ users: '5', pace: '1s', think: '1s' }, 'give one of --pace and --think'],
    [{ users: '5', pace: '1s', 'ramp-up': '1s' }, 'give one of --pace and --ramp-up'],
    [{ users: '5', burst: true, 'ramp-up': '1s' }, 'give one of --ramp-up and --burst'],
    [{ single: true, slo: 'ttft=1s' }, 'every answer is a single body'],
    [{ 'stream-share': '0', slo: 'tpot=1s,e2e=2s' }, 'every answer is a single body'],
    [
      { single: true, 'abort-share': '1', 'abort-after-tokens': '5' },
      'a single body is left by afterMs alone',
    ],
    [{ target: 'https://a.example', 'slow-share': '0.1' }, 'https is read ahead, and has no slow readers'],
    [{ target: 'http://a/v1/messages' }, 'is the place of anthropic alone, and openai is asked for'],
    [
      { target: 'http://a/v1/chat/completions', format: 'openai,gemini' },
      'is the place of openai alone, and gemini is asked for',
    ],
  ])('refuses %j, which would change nothing, and says what it lacks', (flags, message) => {
    expect(() => scenario(flags)).toThrow(message);
  });

  it.each([
    [{ duration: '30' }, '--duration is a time with its unit'],
    [{ timeout: '30' }, '--timeout is a time with its unit'],
    [{ slo: 'ttft=500' }, '--slo is a time with its unit'],
    [{ users: '1', think: 'exponential:500' }, '--think is a time with its unit'],
    [{ 'abort-share': '1', 'abort-after': 'uniform:1s..2' }, '--abort-after is a time with its unit'],
    [{ steps: '10x30' }, '--steps is a time with its unit'],
    [{ 'prompt-tokens': '1s' }, 'not a number: 1s'],
    [{ 'output-tokens': 'choice:16=0.9,1s=0.1' }, 'not a number: 1s'],
    [{ timeout: '0' }, 'timeoutMs'],
  ])('takes no time without its unit and no count with one: %j', (flags, message) => {
    expect(() => scenario(flags)).toThrow(message);
  });

  it.each([
    { timeout: '597h' },
    { grace: '597h' },
    { settle: '597h' },
    { users: '1', pace: '597h' },
    { users: '1', think: 'exponential:597h' },
    { 'abort-share': '1', 'abort-after': '597h' },
  ])('takes no time that is longer than a timer waits, which would be over at once: %j', (flags) => {
    expect(() => scenario(flags)).toThrow('at most 596h');
    expect(() => scenario({ duration: '9000h', timeout: '596h', grace: '596h' })).not.toThrow();
  });

  it.each([
    [{ kind: 'closed', users: 1, paceMs: 0 }, 'load.paceMs: must be above 0'],
    [
      { kind: 'open', profile: { kind: 'ramp', from: 1, to: 9, overMs: 0 } },
      'load.profile.overMs: must be above 0',
    ],
  ])('takes no load that begins nothing, or all of it at its first instant: %j', (load, message) => {
    expect(() => scenario({}, { durationMs: '1s', load })).toThrow(message);
  });

  it('takes a bare number for milliseconds where the field of a file says so', () => {
    const file = { durationMs: 40_000, load: { kind: 'closed', users: 1, thinkMs: 'uniform:5..10' } };
    expect(scenario({}, file)).toMatchObject({ durationMs: 40_000, load: { thinkMs: { from: 5, to: 10 } } });
  });

  it.each([
    [{ ramp: '1..2..3' }, '--ramp goes from a rate to another: A..B'],
    [{ ramp: '..2' }, 'load.profile.from'],
    [{ steps: '10x1s,,5x1s' }, '--steps is a list such as 100x30s,200x30s'],
    [{ steps: 'x5s' }, '--steps is a list such as 100x30s,200x30s'],
    [{ steps: '1x2sx3' }, '--steps is a list such as 100x30s,200x30s'],
    [{ slo: 'ttft=1s=2s' }, 'not a bound of ttft, tpot or e2e'],
    [{ rate: '' }, 'load.profile.rate'],
    [{ seed: '' }, 'seed'],
    [{ beyond: '1.5,' }, 'search.beyond.1'],
    [{ beyond: '1.5,0.5' }, 'search.beyond.1: a load past the found rate is a multiple above 1'],
  ])('takes nothing for a number, and no more parts than it knows: %j', (flags, message) => {
    expect(() => scenario(flags)).toThrow(message);
  });

  it.each<[object, ScenarioFlagValues, string]>([
    [{ traffic: { format: 'anthropic' } }, { model: 'x' }, 'traffic: Invalid input: expected array'],
    [{ traffic: [null] }, { model: 'x' }, 'traffic.0: Invalid input: expected object'],
    [{ traffic: [{}, 'x'] }, { format: 'openai,gemini' }, 'traffic.1: Invalid input: expected object'],
    [{ traffic: [{ abort: 0.5 }] }, { 'abort-after': '1s' }, 'traffic.0.abort: Invalid input'],
    [{ traffic: [{ prompt: 'hello' }] }, { seeds: '4' }, 'traffic.0.prompt: Invalid input'],
    [{ slo: 'ttft=1ms' }, { attainment: '0.9' }, 'slo: Invalid input: expected object'],
    [{ slo: [] }, { slo: 'ttft=1s' }, 'slo: Invalid input: expected object'],
    [{ headers: null }, { header: ['a=b'] }, 'headers: Invalid input: expected record'],
    [{ load: 'closed' }, { rate: '5' }, 'load: Invalid input'],
    [{ load: { spacing: 'constant' } }, { rate: '5' }, 'load.kind: Invalid'],
  ])('drops nothing of %j, which is wrong, for the flags %j', (file, flags, message) => {
    expect(() => scenario({}, file)).toThrow(message);
    expect(() => scenario(flags, file)).toThrow(message);
  });

  it('says everything that is wrong with a file at once', () => {
    const file = { durationMs: 'x', traffic: [{ model: 3 }], unknown: 1 };
    expect(() => parseScenario(file)).toThrow(/durationMs[\s\S]*traffic\.0\.model[\s\S]*unknown/);
  });
});
