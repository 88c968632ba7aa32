import { parseEnvironment } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { workerEnvironment } from './config.ts';

const poolsOf = (text: string | undefined) =>
  parseEnvironment(workerEnvironment, { SLUICE_POOLS: text }).values.SLUICE_POOLS;

it('the pools of a worker stand between commas, and no list means all of them', () => {
  expect(poolsOf(' a, b ,')).toEqual(['a', 'b']);
  expect(poolsOf(undefined)).toBeUndefined();
  expect(poolsOf('')).toBeUndefined();
});

it('a list of no pools is refused: its worker would be ready, and serve nobody', () => {
  expect(() => poolsOf(' , ')).toThrow(/SLUICE_POOLS: names no pool/);
});

it('a bad Redis URL is reported together with the other mistakes', () => {
  const environment = { SLUICE_REDIS_URL: 'redis.example', SLUICE_PROCESSES: '0' };
  expect(() => parseEnvironment(workerEnvironment, environment)).toThrow(
    /2 mistakes\n {2}SLUICE_REDIS_URL: a Redis URL .*\n {2}SLUICE_PROCESSES: /,
  );
});
