import { SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { defineLimit } from '../limit.ts';

const policy = z
  .strictObject({ max: z.int().positive().describe('generations that may be waiting or running at once') })
  .describe('How many generations may be in flight at once.');

/** Limits how many generations are in flight at once. */
export const concurrency = defineLimit({
  name: 'concurrency',
  summary: 'How many generations may be waiting or running at once; one request with n choices counts n.',
  example: '10',
  policy,
  check: ({ max }) => ({ primitive: 'lease', max }),
  amount: ({ jobs }) => jobs,
  refuse({ max }, { scope, amount }) {
    const fits = amount <= max;
    return new SluiceError(
      'rate-limited',
      fits
        ? `concurrency of this ${scope} is used up: ${max} generations are in flight`
        : `concurrency of this ${scope} is ${max}, and the request asks for ${amount} generations`,
      fits ? { retryAfterMs: 1000 } : { retryable: false },
    );
  },
});
