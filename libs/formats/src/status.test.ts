import type { ErrorInfo, ErrorKind } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { retryAfterSeconds, retryHeaders, statusOf } from './status.ts';

const error = (kind: ErrorKind, more: Partial<ErrorInfo> = {}): ErrorInfo => ({
  kind,
  message: 'x',
  ...more,
});

test('no kind has a status that SDKs retry although a retry cannot help', () => {
  for (const status of Object.values(statusOf)) expect([408, 409]).not.toContain(status);
});

describe('retryHeaders', () => {
  test.each<ErrorKind>(['rate-limited', 'saturated', 'unavailable'])(
    '%s tells when to come again',
    (kind) => {
      expect(retryHeaders(error(kind))).toEqual({ 'retry-after': '1' });
      expect(retryHeaders(error(kind, { retryAfterMs: 2100 }))).toEqual({ 'retry-after': '3' });
    },
  );

  test.each<ErrorKind>(['unauthenticated', 'budget-exhausted', 'permission-denied'])(
    '%s is final',
    (kind) => {
      expect(retryHeaders(error(kind))).toEqual({ 'x-should-retry': 'false' });
    },
  );

  test('an error that was already retried is final, whatever its kind', () => {
    expect(retryHeaders(error('upstream-failed', { retryable: false, retryAfterMs: 5 }))).toEqual({
      'x-should-retry': 'false',
    });
    expect(retryHeaders(error('rate-limited', { retryable: false }))).toEqual({ 'x-should-retry': 'false' });
  });

  test('a server that was already retried is not retried at once, but later', () => {
    expect(retryHeaders(error('unavailable', { retryable: false, retryAfterMs: 5000 }))).toEqual({
      'x-should-retry': 'false',
      'retry-after': '5',
    });
  });

  test('a budget that is renewed says when, however late that is', () => {
    expect(retryHeaders(error('budget-exhausted', { retryAfterMs: 86_399_001 }))).toEqual({
      'x-should-retry': 'false',
      'retry-after': '86400',
    });
  });

  test('a known wait is reported, whatever the kind', () => {
    expect(retryHeaders(error('upstream-failed', { retryAfterMs: 2100 }))).toEqual({ 'retry-after': '3' });
  });

  test('an invalid request needs no advice', () => {
    expect(retryHeaders(error('invalid-request'))).toEqual({});
  });
});

test('the wait is whole seconds between 1 and 60', () => {
  const seconds = (retryAfterMs: number) => retryAfterSeconds(error('saturated', { retryAfterMs }));
  expect([seconds(0), seconds(1), seconds(1001), seconds(10_000_000)]).toEqual([1, 1, 2, 60]);
});
