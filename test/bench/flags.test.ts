import { expect, test } from 'vitest';
import { parseFlags } from './flags.ts';

const parse = (...words: string[]) => parseFlags(words, [{ name: 'one' }, { name: 'some' }]);

test('a quick look is one round, unless more are asked for', () => {
  expect(parse()).toMatchObject({ quick: false, rounds: 3, only: [], redis: 'socket' });
  expect(parse('--quick')).toMatchObject({ quick: true, rounds: 1 });
  expect(parse('--quick', '--rounds', '2', '--only', 'some,one')).toMatchObject({
    rounds: 2,
    only: ['some', 'one'],
  });
});

test.each([
  [['--check', '5', '--only', 'one'], '--only changes nothing of --check'],
  [['--check', '5', '--quick'], '--quick changes nothing of --check'],
  [['--check', '5', '--past-saturation'], '--past-saturation changes nothing of --check'],
  [['--past-saturation', '--rounds', '5'], '--rounds changes nothing of --past-saturation'],
  [['--only', 'two'], 'there is no two; there are one, some'],
])('%j is refused', (words, message) => {
  expect(() => parse(...words)).toThrow(message);
});

test('what both runs heed is taken', () => {
  expect(parse('--past-saturation', '--quick', '--redis', 'tcp')).toMatchObject({ pastSaturation: true });
  expect(parse('--check', '5', '--redis', 'tcp', '--output', 'x')).toMatchObject({ check: 5, output: 'x' });
});
