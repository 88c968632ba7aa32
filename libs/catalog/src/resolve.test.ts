import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NameResolver } from './resolve.ts';

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 6 });
const alias = fc.oneof(
  name,
  fc.tuple(name, name).map(([prefix, suffix]) => `${prefix}*${suffix}`),
);

/** The rule, read literally and without any cache. */
function expected(ids: string[], aliases: string[], asked: string): string | undefined {
  if (ids.includes(asked)) return `id ${asked}`;
  if (aliases.includes(asked)) return `alias ${asked}`;
  let best: string | undefined;
  for (const candidate of aliases.filter((each) => each.includes('*'))) {
    const isMatch = new RegExp(`^${candidate.replace('*', '.*')}$`).test(asked);
    if (isMatch && (best === undefined || candidate.length > best.length)) best = candidate;
  }
  return best === undefined ? undefined : `alias ${best}`;
}

it('any name resolves by the rule, asked once or again', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name), fc.uniqueArray(alias), fc.array(name), (ids, aliases, asked) => {
      const resolver = new NameResolver(
        new Map(ids.map((id) => [id, `id ${id}`])),
        new Map(aliases.map((each) => [each, `alias ${each}`])),
      );
      for (const each of [...asked, ...asked, ...ids]) {
        expect(resolver.resolve(each)).toBe(expected(ids, aliases, each));
      }
    }),
  );
});

it('names that clients invent do not fill the memory', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const resolver = new NameResolver(new Map(), new Map([['gpt-*', 'a model']]));
  collect();
  const before = process.memoryUsage().heapUsed;
  // Of the 20 MB of these names, 0.2 are remembered.
  for (let index = 0; index < 100_000; index += 1)
    resolver.resolve(Buffer.from(`gpt-${index}`.padEnd(200, 'x')).toString('latin1'));
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(resolver.resolve('gpt-5')).toBe('a model');
});
