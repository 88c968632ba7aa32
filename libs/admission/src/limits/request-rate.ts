import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { formatDuration } from '../duration.ts';
import { defineLimit } from '../limit.ts';
import { patience } from '../retry-after.ts';

const policy = z
  .strictObject({
    max: z.int().positive().describe('requests per period, and the most that may come at once'),
    periodMs: z.int().positive().describe('length of the period in milliseconds'),
  })
  .describe('How many requests may start per period.');

/** Limits how many requests start per period. */
export const requestRate = defineLimit({
  name: 'request-rate',
  summary: 'How many requests may start per period; a whole period may be used at once and refills evenly.',
  example: '60/1m',
  counts: 'requests',
  policy,
  check: ({ max, periodMs }) => ({ primitive: 'rate', max, periodMs, settles: false }),
  amount: () => 1,
  refuse: ({ max, periodMs }, { scope, waitMs }) =>
    new SluiceError(
      'rate-limited',
      `request-rate of this ${scope} is used up: ${max} requests per ${formatDuration(periodMs)}`,
      { retryAfterMs: patience(waitMs) },
    ),
});
