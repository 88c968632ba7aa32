import type { SluiceError } from '@sluice/canonical';
import { expect, it } from 'vitest';
import type { Refused } from './limit.ts';
import { limitNamed, parsePolicy } from './policy.ts';

interface Refusal {
  policy: string;
  refused: Refused;
  kind: SluiceError['kind'];
  message: string;
  options: Pick<SluiceError['options'], 'retryable' | 'retryAfterMs'>;
}

const ofKey = (amount: number, level: number, waitMs?: number): Refused => ({
  scope: 'key',
  amount,
  level,
  ...(waitMs !== undefined && { waitMs }),
});

it.each<Refusal>([
  {
    policy: 'concurrency=3',
    refused: { ...ofKey(4, 0), scope: 'tenant' },
    kind: 'rate-limited',
    message: 'concurrency of this tenant is 3, and the request asks for 4 generations',
    options: { retryable: false },
  },
  {
    policy: 'concurrency=3',
    refused: ofKey(3, 1, 0),
    kind: 'rate-limited',
    message: 'concurrency of this key is 3: 1 generation is in flight, and the request asks for 3',
    options: { retryAfterMs: 1000 },
  },
  {
    policy: 'concurrency=3',
    refused: ofKey(1, 5, 0),
    kind: 'rate-limited',
    message: 'concurrency of this key is 3: 5 generations are in flight, and the request asks for 1',
    options: { retryAfterMs: 1000 },
  },
  {
    policy: 'request-rate=60/1m',
    refused: ofKey(1, 60, 2500),
    kind: 'rate-limited',
    message: 'request-rate of this key is used up: 60 requests per 1m',
    options: { retryAfterMs: 2500 },
  },
  {
    policy: 'token-rate=1000/1h',
    refused: ofKey(1001, 0),
    kind: 'rate-limited',
    message: 'token-rate of this key is 1000 tokens per 1h, and the input alone has some 1001 tokens',
    options: { retryable: false },
  },
  {
    policy: 'token-rate=1000/1h',
    refused: ofKey(1000, 10, 36_000),
    kind: 'rate-limited',
    message:
      'token-rate of this key is 1000 tokens per 1h: 10 are used or reserved, and the request may need 1000',
    options: { retryAfterMs: 36_000 },
  },
  {
    policy: 'token-budget=1000',
    refused: ofKey(400, 700, 0),
    kind: 'rate-limited',
    message:
      'token-budget of this key is 1000 tokens: 700 are spent or reserved, and the request may need 400',
    options: { retryAfterMs: 1000 },
  },
  {
    policy: 'token-budget=1000',
    refused: ofKey(400, 700),
    kind: 'budget-exhausted',
    message:
      'token-budget of this key is 1000 tokens: 700 are spent or reserved, and the request may need 400',
    options: { retryable: false },
  },
  {
    policy: 'token-budget=1000/1d',
    refused: ofKey(400, 700, 7_200_000),
    kind: 'budget-exhausted',
    message:
      'token-budget of this key is 1000 tokens per 1d: 700 are spent or reserved, and the request may need 400',
    options: { retryable: false, retryAfterMs: 7_200_000 },
  },
])('$policy refuses $refused.amount beside $refused.level: $message', (expected) => {
  const [name = '', text = ''] = expected.policy.split('=');
  const { kind, message, options } = limitNamed(name).bind(parsePolicy(name, text)).refuse(expected.refused);
  expect([kind, message]).toEqual([expected.kind, expected.message]);
  expect(options).toEqual({ ...expected.options, refusedBy: name });
});
