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
