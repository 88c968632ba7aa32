import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { formatDuration } from '../duration.ts';
import { defineLimit } from '../limit.ts';
import { patience } from '../retry-after.ts';

const policy = z
  .strictObject({
    max: z.int().positive().describe('tokens per period, input and output together'),
    periodMs: z.int().positive().describe('length of the period in milliseconds'),
  })
  .describe('How many tokens may be used per period.');

/** Limits how many tokens are used per period. */
export const tokenRate = defineLimit({
  name: 'token-rate',
  summary: 'How many input and output tokens may be used per period; estimated first, corrected at the end.',
  example: '100000/1m',
  counts: 'tokens',
  policy,
  check: ({ max, periodMs }) => ({ primitive: 'rate', max, periodMs, settles: true }),
  // Clients ask for far more output than they get. So a claim that is larger than the whole rate takes the whole rate,
  // unless its input alone is larger: then it can never fit.
  amount: (_claim, { max }, { inputTokens, totalTokens }) =>
    inputTokens > max ? inputTokens : Math.min(totalTokens, max),
  refuse({ max, periodMs }, { scope, amount, level, waitMs }) {
    const rate = `token-rate of this ${scope} is ${max} tokens per ${formatDuration(periodMs)}`;
    if (amount > max) {
      return new SluiceError('rate-limited', `${rate}, and the input alone has some ${amount} tokens`);
    }
    const message = `${rate}: ${level} are used or reserved, and the request may need ${amount}`;
    return new SluiceError('rate-limited', message, { retryAfterMs: patience(waitMs) });
  },
});
