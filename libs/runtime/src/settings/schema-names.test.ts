import { expect, it } from 'vitest';
import { z } from 'zod';
import { namesIn } from './schema-names.ts';

it('finds the names of a schema at any depth', () => {
  const inner = z.strictObject({ topK: z.int(), minP: z.number() });
  const schema = z
    .strictObject({
      pools: z.record(z.string(), z.strictObject({ maxWaiting: z.int().optional() })),
      sampling: inner.prefault({ topK: 1, minP: 0 }),
      rules: z.array(z.strictObject({ onlyFrom: z.string() })).default([]),
    })
    .refine(() => true);
  expect(namesIn(schema)).toEqual(['pools', 'maxWaiting', 'sampling', 'topK', 'minP', 'rules', 'onlyFrom']);
});
