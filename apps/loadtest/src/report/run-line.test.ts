import { expect, it } from 'vitest';
import { lineOf } from './run-line.ts';

it('no two of two dozen runs are drawn alike', () => {
  const lines = Array.from({ length: 24 }, (_, run) => lineOf(run));
  expect(new Set(lines.map(({ color, stroke }) => `${color} ${stroke}`)).size).toBe(24);
  expect(new Set(lines.map(({ color, tailStroke }) => `${color} ${tailStroke}`)).size).toBe(24);
  for (const { stroke, tailStroke } of lines) expect(tailStroke).not.toBe(stroke);
});
