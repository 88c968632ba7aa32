import { parseEnvironment } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { workerEnvironment } from './config.ts';

const poolsOf = (text: string | undefined) =>
  parseEnvironment(workerEnvironment, { SLUICE_POOLS: text }).values.SLUICE_POOLS;

it('a worker serves the pools that it is told, and all where it is told nothing', () => {
  expect(poolsOf(' a, b ,')).toEqual(['a', 'b']);
  expect(poolsOf(undefined)).toBeUndefined();
  expect(poolsOf('')).toBeUndefined();
});

it('a list of no pools is refused: its worker would be ready, and serve nobody', () => {
  expect(() => poolsOf(' , ')).toThrow(/SLUICE_POOLS: names no pool/);
});
