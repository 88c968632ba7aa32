import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { formatDuration } from '../duration.ts';
import { defineLimit } from '../limit.ts';
import { patience } from '../retry-after.ts';

const policy = z
  .strictObject({
    max: z.int().positive().describe('tokens in all, input and output together'),
    periodMs: z
      .int()
      .positive()
      .optional()
      .describe('milliseconds after which it begins anew, counted from 1970 in UTC; absent means never'),
  })
  .describe('How many tokens may be spent in all.');

/** Limits how many tokens are spent in all, or per period of the calendar. */
export const tokenBudget = defineLimit({
  name: 'token-budget',
  summary:
    'How many input and output tokens may be spent in all, or per period (1d: from midnight UTC); what may still come is reserved.',
  example: '1000000',
  policy,
  check: ({ max, periodMs }) => ({ primitive: 'budget', max, ...(periodMs !== undefined && { periodMs }) }),
  amount: (_claim, _policy, { totalTokens }) => totalTokens,
  refuse({ max, periodMs }, { scope, amount, level, waitMs }) {
    const renewal = periodMs === undefined ? '' : ` per ${formatDuration(periodMs)}`;
    const message = `token-budget of this ${scope} is ${max} tokens${renewal}: ${level} are spent or reserved, and the request may need ${amount}`;
    // Only reservations are in the way: the request will fit when others have ended, without a new budget.
    if (waitMs === 0) return new SluiceError('rate-limited', message, { retryAfterMs: patience(waitMs) });
    return new SluiceError('budget-exhausted', message, {
      retryable: false,
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    });
  },
});
