import { describe, expect, it } from 'vitest';
import { createRandom, exponential } from './random.ts';
import { findSaturation } from './saturation.ts';

/** Share of requests of a simulated queue (one server, Poisson arrivals, exponential work) that wait within a bound. */
function simulateQueue(rate: number, serviceRate: number, boundMs: number): number {
  const random = createRandom(11);
  const requests = 20_000;
  let arrivedAt = 0;
  let freeAt = 0;
  let good = 0;
  for (let i = 0; i < requests; i++) {
    arrivedAt += (1000 / rate) * exponential(random);
    freeAt = Math.max(freeAt, arrivedAt) + (1000 / serviceRate) * exponential(random);
    if (freeAt - arrivedAt <= boundMs) good += 1;
  }
  return good / requests;
}

const search = (fromRate: number, maxRate = 100_000) =>
  findSaturation({
    fromRate,
    maxRate,
    precision: 0.03,
    probe: async (rate) => simulateQueue(rate, 1000, 50),
    isMet: (share) => share >= 0.99,
  });

describe('the saturation search', () => {
  // Of an M/M/1 queue exp(-(mu - lambda) t) wait longer than t: 1 % at 50 ms and mu = 1000/s gives 908/s.
  const truth = 1000 - Math.log(100) / 0.05;

  it.each([10, 700, 5000])(
    'finds the rate of a queue whose answer is known, from %d/s on',
    async (fromRate) => {
      const { best } = await search(fromRate);
      expect(best).toBeDefined();
      expect(Math.abs((best?.rate ?? 0) / truth - 1)).toBeLessThan(0.05);
    },
  );

  it('ends with a met rate and a missed one that are close', async () => {
    const { best, trials } = await search(10);
    const missed = trials.filter(({ result }) => result < 0.99).map(({ rate }) => rate);
    expect(Math.min(...missed) / (best?.rate ?? 1)).toBeLessThanOrEqual(1.03);
    expect(trials.length).toBeLessThan(16);
  });

  it('stops at the highest allowed rate when that is met', async () => {
    const { best } = await search(10, 300);
    expect(best?.rate).toBe(300);
  });

  it('finds nothing when no rate meets the objective', async () => {
    const { best, trials } = await findSaturation({
      fromRate: 100,
      maxRate: 1000,
      precision: 0.1,
      probe: async () => 0,
      isMet: () => false,
    });
    expect(best).toBeUndefined();
    expect(trials.length).toBeLessThan(10);
  });
});
