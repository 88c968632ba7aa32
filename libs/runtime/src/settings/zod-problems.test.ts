import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkSettings, printPath } from './zod-problems.ts';

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

it.each([
  ['must have at least 1 character', z.string().min(1), ''],
  ['must have at most 2 characters', z.string().max(2), 'abc'],
  ['must have at least 1 item', z.array(z.string()).min(1), []],
  ['must have at most 2 items', z.array(z.string()).max(2), ['a', 'b', 'c']],
  ['must be more than 0', z.number().gt(0), 0],
  ['must be less than 5', z.number().lt(5), 5],
  ['must be a multiple of 5', z.number().multipleOf(5), 7],
  ['expected true or false, got text', z.boolean(), 'yes'],
  ['expected a number, got a list', z.number(), []],
  ['expected text, got true or false', z.string(), true],
  ['expected a list, got a group of names', z.array(z.string()), {}],
  ['is not a valid url', z.url(), 'nowhere'],
  ['must begin with a', z.string().regex(/^a/, 'Must begin with a'), 'b'],
  ['is not a valid regex', z.string().regex(/^a/), 'b'],
])('a wrong value is told by “%s”', (message, field, wrong) => {
  expect(checkSettings(z.object({ field }), { field: wrong }).problems).toEqual([{ path: 'field', message }]);
});

it('a wrong name is told in the words of its schema', () => {
  const groups = z.record(z.string().regex(/^[a-z]/, 'Begins with a capital letter'), z.number());
  expect(checkSettings(groups, { B: 1 }).problems).toEqual([
    { path: 'B', message: 'begins with a capital letter' },
  ]);
});

it.each([
  ['in a list', z.array(z.strictObject({ slots: z.number() })), [{ slot: 1, slots: 1 }], 'field[0].slot'],
  [
    'in a group that may be absent',
    z.strictObject({ slots: z.number() }).optional(),
    { slot: 1, slots: 1 },
    'field.slot',
  ],
  [
    'in a group that has a default and becomes something else',
    z
      .strictObject({ slots: z.number() })
      .transform(({ slots }) => slots)
      .default(1),
    { slot: 1, slots: 1 },
    'field.slot',
  ],
])('an unknown name %s gets a suggestion', (_where, field, value, path) => {
  expect(checkSettings(z.object({ field }), { field: value }).problems).toEqual([
    { path, message: 'unknown name; did you mean slots?' },
  ]);
});

it.each([
  [['pools', 'sim', 'slots'], '', 'pools.sim.slots'],
  [['models', 'llama-3.1', 'pool'], '', 'models["llama-3.1"].pool'],
  [['aliases', 'gpt-*'], '', 'aliases.gpt-*'],
  [['list', 1, 0], '', 'list[1][0]'],
  [['a b'], '', '["a b"]'],
  [['x'], 'pools.sim', 'pools.sim.x'],
  [[], 'pools.sim', 'pools.sim'],
])('path %j below %j prints as %s', (path, base, printed) => expect(printPath(path, base)).toBe(printed));
