import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDurationMs } from './duration.ts';
import { bindLimits, formatPolicy, parsePolicy } from './policy.ts';
import { limits } from './registry.ts';

it('any duration is read back from its shortest text', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000_000 }), (durationMs) => {
      expect(parseDurationMs(formatDuration(durationMs))).toBe(durationMs);
    }),
  );
  expect([60_000, 90_000, 86_400_000, 1].map(formatDuration)).toEqual(['1m', '90s', '1d', '1ms']);
});

it.each(['', '1', 'm', '0s', '-1s', '1.5h', '1 m', '1w', '90sec', '1month'])(
  '%j is not a duration',
  (text) => {
    expect(() => parseDurationMs(text)).toThrow(
      expect.objectContaining({
        kind: 'invalid-request',
        message: expect.stringContaining('is not a duration'),
      }),
    );
  },
);

describe.each(limits)('$name', ({ name, example, summary, policy }) => {
  it('reads its example and writes it again', () => {
    expect(formatPolicy(parsePolicy(name, example))).toBe(example);
  });

  it('describes itself and its policy', () => {
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(policy.description).toBeTruthy();
  });

  it.each(['0', '-1', 'ten', '1.5', '', '{"max":0}', '{', '{"max":1,"extra":1}'])('refuses %j', (text) => {
    expect(() => parsePolicy(name, text)).toThrow(expect.objectContaining({ kind: 'invalid-request' }));
  });
});

it('a policy is also written as JSON, and big numbers with underscores', () => {
  expect(parsePolicy('request-rate', '{"max":5,"periodMs":1000}')).toEqual({ max: 5, periodMs: 1000 });
  expect(parsePolicy('token-budget', '1_000_000/30d')).toEqual({ max: 1_000_000, periodMs: 2_592_000_000 });
});

it.each([
  ['10', { max: 10 }],
  ['10/90s', { max: 10, periodMs: 90_000 }],
  ['{"max":10,"periodMs":90000,"burst":5}', { max: 10, periodMs: 90_000, burst: 5 }],
  ['{"max":10,"periodMs":"1m"}', { max: 10, periodMs: '1m' }],
  ['{"max":"ten"}', { max: 'ten' }],
  ['{"periodMs":90000}', { periodMs: 90_000 }],
  ['[10]', [10]],
  ['"10"', '10'],
  ['null', null],
])('a stored policy is shown as %s, whichever version has stored it', (text, policy) => {
  expect(formatPolicy(policy)).toBe(text);
});

it('a policy that begins as JSON and is none is refused as that', () => {
  expect(() => parsePolicy('concurrency', '{max: 10}')).toThrow('the policy is not JSON');
});

it('a stored policy that cannot be kept to is named, whatever it lacks', () => {
  expect(() => bindLimits({ key: {}, tenant: { 'daily-cost': { max: 1 } } })).toThrow(
    'a stored policy names limit daily-cost, which does not exist here',
  );
  expect(() => bindLimits({ key: { concurrency: { most: 1 } }, tenant: {} })).toThrow(
    'a stored policy of concurrency is not valid',
  );
});

it('a period is refused where there is none, and missed where there must be one', () => {
  expect(() => parsePolicy('concurrency', '10/1m')).toThrow('written as concurrency=10');
  expect(() => parsePolicy('request-rate', '10')).toThrow('written as request-rate=60/1m');
});

it('an unknown limit is refused with the names of those that exist', () => {
  const names = limits.map(({ name }) => name).join(', ');
  expect(() => parsePolicy('speed', '10')).toThrow(
    expect.objectContaining({
      kind: 'invalid-request',
      message: expect.stringContaining(`known: ${names}`),
    }),
  );
});
