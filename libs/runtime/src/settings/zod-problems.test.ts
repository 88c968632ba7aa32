import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkSettings } from './zod-problems.ts';

const schema = z.strictObject({
  pools: z.record(
    z.string(),
    z.strictObject({ slots: z.number().int().min(1).max(9), mode: z.enum(['a', 'b']).default('a') }),
  ),
  names: z.array(z.string().min(2)).max(1).optional(),
  kind: z.literal('x').optional(),
});

it('names every mistake by its path in words, with a suggestion for unknown names', () => {
  const raw = {
    pools: {
      'a.b': { slots: '3' },
      c: { slots: 0, mode: 'z', slot: 1 },
      d: { slots: 1.5 },
      e: null,
      f: { slots: 10 },
    },
    names: ['a'],
    kind: 'y',
    nams: [],
  };
  expect(checkSettings(schema, raw, 'root')).toEqual({
    problems: [
      { path: 'root.pools["a.b"].slots', message: 'expected a number, got text' },
      { path: 'root.pools.c.slots', message: 'must be at least 1' },
      { path: 'root.pools.c.mode', message: 'must be one of a, b' },
      { path: 'root.pools.c.slot', message: 'unknown name; did you mean slots?' },
      { path: 'root.pools.d.slots', message: 'expected a whole number, got a fraction' },
      { path: 'root.pools.e', message: 'expected a group of names, got nothing' },
      { path: 'root.pools.f.slots', message: 'must be at most 9' },
      { path: 'root.names[0]', message: 'must have at least 2 characters' },
      { path: 'root.kind', message: 'must be x' },
      { path: 'root.nams', message: 'unknown name; did you mean names?' },
    ],
  });
});

it('gives the value with its defaults when nothing is wrong', () => {
  expect(checkSettings(schema, { pools: { a: { slots: 1 } } })).toEqual({
    value: { pools: { a: { slots: 1, mode: 'a' } } },
    problems: [],
  });
});
