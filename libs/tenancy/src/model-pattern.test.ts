import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchesModel } from './model-pattern.ts';

it('agrees with the same pattern as a regular expression', () => {
  const text = (extra: string) => fc.array(fc.constantFrom('a', 'b', '.', ...extra), { maxLength: 8 });
  fc.assert(
    fc.property(text('*'), text(''), (pattern, model) => {
      const expression = pattern
        .map((letter) => (letter === '*' ? '.*' : letter === '.' ? '\\.' : letter))
        .join('');
      const expected = new RegExp(`^${expression}$`).test(model.join(''));
      expect(matchesModel(pattern.join(''), model.join(''))).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});
