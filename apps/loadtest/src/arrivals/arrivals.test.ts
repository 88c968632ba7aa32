import { describe, expect, it } from 'vitest';
import { createRandom } from '../random.ts';
import { arrivalInstants, peakRate, type RateProfile, type Spacing } from './arrivals.ts';

function instants(profile: RateProfile, spacing: Spacing, untilMs: number, seed = 1): number[] {
  const found: number[] = [];
  for (const at of arrivalInstants(profile, spacing, createRandom(seed))) {
    if (at >= untilMs) break;
    found.push(at);
  }
  return found;
}

const gaps = (at: number[]) => at.slice(1).map((value, i) => value - (at[i] ?? 0));
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('open-loop arrivals', () => {
  it('even arrivals are exactly one period apart', () => {
    const at = instants({ kind: 'constant', rate: 100 }, 'constant', 1000);
    expect(at).toHaveLength(100);
    for (const gap of gaps(at)) expect(gap).toBeCloseTo(10, 9);
  });

  it('poisson gaps have the mean and the variance of an exponential, and no memory', () => {
    const found = gaps(instants({ kind: 'constant', rate: 1000 }, 'poisson', 200_000));
    const average = mean(found);
    expect(average).toBeGreaterThan(0.985);
    expect(average).toBeLessThan(1.015);
    expect(mean(found.map((gap) => (gap - average) ** 2))).toBeCloseTo(1, 1);
    const products = found.slice(1).map((gap, i) => (gap - average) * ((found[i] ?? 0) - average));
    expect(Math.abs(mean(products))).toBeLessThan(0.02);
    expect(found.filter((gap) => gap > 1).length / found.length).toBeCloseTo(Math.exp(-1), 1);
  });

  it('a ramp brings the integral of its rate', () => {
    const ramp: RateProfile = { kind: 'ramp', from: 0, to: 200, overMs: 10_000 };
    const at = instants(ramp, 'constant', 10_000);
    expect(at).toHaveLength(1000);
    // Half of the time holds a quarter of the arrivals.
    expect(at.filter((value) => value < 5000)).toHaveLength(250);
    expect(instants(ramp, 'constant', 20_000)).toHaveLength(3000);
  });

  it('a falling ramp that ends at nothing ends the arrivals', () => {
    const down: RateProfile = { kind: 'ramp', from: 100, to: 0, overMs: 2000 };
    expect(instants(down, 'constant', 60_000)).toHaveLength(100);
  });

  it('steps change the rate at their borders, also through a pause', () => {
    const profile: RateProfile = {
      kind: 'steps',
      steps: [
        { rate: 10, forMs: 1000 },
        { rate: 0, forMs: 1000 },
        { rate: 50, forMs: 1000 },
      ],
    };
    const at = instants(profile, 'constant', 3000);
    const within = (from: number, to: number) => at.filter((value) => value >= from && value < to).length;
    expect([within(0, 1000), within(1000, 2000), within(2000, 3000)]).toEqual([10, 0, 50]);
    expect(peakRate(profile)).toBe(50);
  });

  it('the same seed gives the same arrivals, another seed others', () => {
    const profile: RateProfile = { kind: 'constant', rate: 50 };
    expect(instants(profile, 'poisson', 5000, 3)).toEqual(instants(profile, 'poisson', 5000, 3));
    expect(instants(profile, 'poisson', 5000, 3)).not.toEqual(instants(profile, 'poisson', 5000, 4));
  });
});
