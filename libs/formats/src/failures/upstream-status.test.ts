import { expect, test } from 'vitest';
import { formatNamed } from '../golden-run.ts';
import { kindOfStatus, markOverload, readRetryAdvice } from './upstream-status.ts';

test.each([
  [400, 'invalid-request'],
  [401, 'unauthenticated'],
  [402, 'budget-exhausted'],
  [403, 'permission-denied'],
  [404, 'not-found'],
  [405, 'method-not-allowed'],
  [407, 'unauthenticated'],
  [408, 'deadline-exceeded'],
  [409, 'upstream-failed'],
  [413, 'too-large'],
  [415, 'unsupported-media'],
  [418, 'invalid-request'],
  [422, 'invalid-request'],
  [424, 'upstream-failed'],
  [429, 'rate-limited'],
  [431, 'upstream-failed'],
  [498, 'rate-limited'],
  [499, 'upstream-failed'],
  [500, 'upstream-failed'],
  [503, 'unavailable'],
  [504, 'deadline-exceeded'],
  [529, 'unavailable'],
  [302, 'upstream-failed'],
])('status %i is %s', (status, kind) => {
  expect(kindOfStatus(status)).toBe(kind);
});

test('the more precise wait wins', () => {
  expect(readRetryAdvice({ 'retry-after': '7' })).toEqual({ retryAfterMs: 7000 });
  expect(readRetryAdvice({ 'retry-after': '7', 'retry-after-ms': ['250'] })).toEqual({ retryAfterMs: 250 });
});

test('space around the number means nothing, and a wait of 0 is a wait', () => {
  expect(readRetryAdvice({ 'retry-after': ' 7 ' })).toEqual({ retryAfterMs: 7000 });
  expect(readRetryAdvice({ 'retry-after': '0' })).toEqual({ retryAfterMs: 0 });
});

test('a date is read by its server’s clock', () => {
  const at = (second: string) => `Wed, 21 Oct 2026 07:28:${second} GMT`;
  expect(readRetryAdvice({ 'retry-after': at('30'), date: at('10') })).toEqual({ retryAfterMs: 20_000 });
  expect(readRetryAdvice({ 'retry-after': at('10'), date: at('30') })).toEqual({ retryAfterMs: 0 });
});

test('a date without another one, nothing, and nonsense are no advice', () => {
  for (const value of ['Wed, 21 Oct 2026 07:28:00 GMT', '', ' ', '-1', undefined]) {
    expect(readRetryAdvice({ 'retry-after': value })).toEqual({});
  }
});

test('an upstream may forbid or ask for a retry', () => {
  expect(readRetryAdvice({ 'x-should-retry': 'false' })).toEqual({ retryable: false });
  expect(readRetryAdvice({ 'x-should-retry': 'true' })).toEqual({ retryable: true });
  expect(readRetryAdvice({ 'x-should-retry': 'maybe' })).toEqual({});
});

test.each<[string | number | undefined, boolean]>([
  [529, true],
  ['overloaded_error', true],
  ['The model is overloaded. Please try again later.', true],
  ['engine_overloaded', true],
  [503, false],
  ['service unavailable', false],
  [undefined, false],
])('a server that is unavailable for %s is overloaded: %s', (said, isOverloaded) => {
  const error = { kind: 'unavailable', message: 'x' } as const;
  expect(markOverload(error, said)).toEqual({ ...error, ...(isOverloaded && { detail: 'overloaded' }) });
});

test('a rate limit that mentions overload is still a rate limit', () => {
  const error = { kind: 'rate-limited', message: 'x' } as const;
  expect(markOverload(error, 529, 'overloaded')).toEqual(error);
});

test('overload is reported to clients of messages as such, whatever the dialect of the server', () => {
  const bodies = {
    openai: { error: { message: 'The server is currently overloaded', type: 'server_error' } },
    anthropic: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    gemini: { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
  };
  for (const [dialect, body] of Object.entries(bodies)) {
    const error = formatNamed(dialect).client.decodeError(503, {}, body);
    const statusFor = (format: string) =>
      formatNamed(format).server.encodeError(error, { requestId: 'r' }).status;
    expect(Object.keys(bodies).map(statusFor)).toEqual([503, 529, 503]);
  }
});
