import { expect, test } from 'vitest';
import { measureInTurns, ratioInTurns } from './turns.ts';

test('every other turn goes the other way round, and results keep their places', async () => {
  const asked: string[] = [];
  const found = await measureInTurns(3, ['a', 'b', 'c'], async (side) => {
    asked.push(side);
    return `${side}${asked.length}`;
  });
  expect(asked.join('')).toBe('abccbaabc');
  expect(found).toEqual([
    ['a1', 'b2', 'c3'],
    ['a6', 'b5', 'c4'],
    ['a7', 'b8', 'c9'],
  ]);
});

test('a drift of the machine does not show in ratios by turn', () => {
  const turns = [1, 3, 2].map((slowness) => [{ cost: 10 * slowness }, { cost: 11 * slowness }]);
  expect(ratioInTurns(turns, ({ cost }) => cost, 1, 0)).toBeCloseTo(1.1);
});

test('a turn without one of the two does not count', () => {
  const turns = [[{ cost: 10 }, { cost: undefined }], [{ cost: 10 }, { cost: 12 }], [{ cost: 10 }]];
  expect(ratioInTurns(turns, ({ cost }) => cost, 1, 0)).toBe(1.2);
  expect(ratioInTurns([], ({ cost }: { cost?: number }) => cost, 1, 0)).toBeUndefined();
});
