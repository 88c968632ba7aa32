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
  refuse({ max }, { scope, amount, level }) {
    const name = `concurrency of this ${scope} is ${max}`;
    if (amount > max) {
      return new SluiceError('rate-limited', `${name}, and the request asks for ${amount} generations`);
    }
    // There may be fewer than the limit if the request asks for several, and more if the limit was lowered.
    const running = level === 1 ? '1 generation is' : `${level} generations are`;
    const message = `${name}: ${running} in flight, and the request asks for ${amount}`;
    return new SluiceError('rate-limited', message, { retryAfterMs: 1000 });
  },
});
