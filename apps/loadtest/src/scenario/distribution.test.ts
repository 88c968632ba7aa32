import { SluiceError } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../random.ts';
import { meanOf, parseCounts, parseTimes, sample, sampleCount } from './distribution.ts';

function samples(text: string, count = 40_000): number[] {
  const random = createRandom(5);
  const distribution = parseCounts(text);
  return Array.from({ length: count }, () => sample(distribution, random));
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('distributions', () => {
  it.each([
    '128',
    'uniform:10..30',
    'normal:100,10',
    'lognormal:50,0.5',
    'exponential:20',
    'choice:10=3,50=1',
  ])('samples of %s average to its mean', (text) => {
    const expected = meanOf(parseCounts(text));
    expect(Math.abs(mean(samples(text)) / expected - 1)).toBeLessThan(0.02);
  });

  it('keeps the shape that its name says', () => {
    const uniform = samples('uniform:10..30');
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...uniform)).toBeLessThan(30);
    const log = samples('lognormal:50,0.5').sort((a, b) => a - b);
    expect((log[20_000] ?? 0) / 50).toBeCloseTo(1, 1);
    const choices = samples('choice:10=3,50=1');
    expect(choices.filter((value) => value === 10).length / choices.length).toBeCloseTo(0.75, 1);
    expect(Math.min(...samples('normal:1,5'))).toBe(0);
  });

  it('reads units of time as milliseconds', () => {
    expect(parseTimes('exponential:2s')).toEqual({ kind: 'exponential', mean: 2000 });
    expect(parseTimes('250ms')).toEqual({ kind: 'fixed', value: 250 });
  });

  it('counts are whole and not below 1', () => {
    const random = createRandom(1);
    for (let i = 0; i < 1000; i++) {
      const value = sampleCount(parseCounts('normal:1,3'), random);
      expect(Number.isInteger(value) && value >= 1).toBe(true);
    }
  });

  it.each(['', 'many', 'uniform:3', 'uniform:9..3', 'zipf:3', 'choice:1=0', 'normal:1'])(
    'refuses %j',
    (text) => {
      expect(() => parseCounts(text)).toThrow(SluiceError);
    },
  );

  it.each([
    ['uniform:3,9', 'with .. between them'],
    ['normal:3..9', 'with , between them'],
  ])('says how the numbers of %j are separated', (text, words) => {
    expect(() => parseCounts(text)).toThrow(words);
  });
});
