import type { JsonObject } from '@sluice/canonical';
import { expect, it } from 'vitest';
import { isRecursive } from './answer-schema.ts';

/** Each definition refers to the next, and the last one is `end`. */
function chain(length: number, end: JsonObject): JsonObject {
  const definitions = Array.from({ length }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]);
  return {
    ...{ type: 'object', properties: { first: { $ref: '#/$defs/d0' } } },
    $defs: { ...Object.fromEntries(definitions), [`d${length}`]: end },
  };
}

it('a chain of references as long as a body allows ends, or refers back, without overflowing the stack', () => {
  expect(isRecursive(chain(20_000, { type: 'string' }))).toBe(false);
  expect(isRecursive(chain(20_000, { items: { $ref: '#/$defs/d7' } }))).toBe(true);
});

it('a definition that is referred to at each of its levels is visited once', () => {
  const references = (places: string[]) => places.map((place) => ({ $ref: place }));
  const levels = Array.from({ length: 600 }, (_, level) => `#/$defs/a${'/items'.repeat(level)}`);
  let a: JsonObject = { anyOf: references(Array.from({ length: 50_000 }, (_, at) => `#/$defs/x${at}`)) };
  for (const _ of levels) a = { items: a };
  // With 150 levels it took 16 s.
  expect(isRecursive({ anyOf: references(levels), $defs: { a } })).toBe(false);
});

it.each<[boolean, string, JsonObject]>([
  [true, 'to the whole', { properties: { child: { $ref: '#' } } }],
  [true, 'to itself', { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } }],
  [false, 'twice to the same', { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: {} } }],
  [false, 'to what nobody uses', { $defs: { a: { $ref: '#/$defs/a' } } }],
  [false, 'to nothing', { $ref: '#/$defs/nowhere' }],
])('says %s of a schema that refers %s', (expected, _, schema) => {
  expect(isRecursive(schema)).toBe(expected);
});
