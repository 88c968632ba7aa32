import { describe, expect, it } from 'vitest';
import { judgeAll, judgeCosts } from './significance.ts';

describe('judgeCosts', () => {
  it('calls a change that all rounds agree on', () => {
    expect(judgeCosts([1.3, 1.28, 1.33, 1.31, 1.29])).toMatchObject({ change: 'slower' });
    expect(judgeCosts([0.7, 0.72, 0.71, 0.69])).toMatchObject({ change: 'faster' });
  });

  it('calls nothing that is smaller than the tolerance', () => {
    expect(judgeCosts([1.01, 0.99, 1.02, 1.0]).change).toBe('same');
  });

  it('calls nothing where the rounds contradict each other', () => {
    expect(judgeCosts([1.6, 0.8, 1.3, 0.9, 1.2]).change).toBe('unclear');
    expect(judgeCosts([0.7, 1.4, 1.0, 1.3, 0.6]).change).toBe('unclear');
    expect(judgeCosts([1.34, 0.68, 1.23, 1.17]).change).toBe('unclear');
  });

  it('calls nothing after too few rounds', () => {
    expect(judgeCosts([1.5, 1.5]).change).toBe('unclear');
    expect(judgeCosts([]).change).toBe('unclear');
  });

  it('forgives a single round that somebody disturbed', () => {
    expect(judgeCosts([1.3, 1.31, 4, 1.29, 1.3]).change).toBe('slower');
  });
});

describe('judgeAll', () => {
  it('has the exit code of its text', () => {
    const [same, slower, unclear] = [[1, 1, 1, 1], [2, 2, 2, 2], [1.5]].map(judgeCosts);
    if (!same || !slower || !unclear) throw new Error('judged nothing');
    expect(judgeAll([same, same])).toEqual({ text: 'NOT SLOWER', exitCode: 0 });
    expect(judgeAll([same, unclear, slower])).toEqual({ text: 'SLOWER', exitCode: 1 });
    expect(judgeAll([same, unclear]).text).toContain('as far as the noise lets see');
  });

  it('judges nobody who failed, however fast', () => {
    const verdict = judgeAll([judgeCosts([0.5, 0.5, 0.5, 0.5])], ['3 × http 503', '3 × http 503']);
    expect(verdict).toEqual({ text: 'NOT COMPARABLE: 3 × http 503', exitCode: 2 });
  });

  it('takes no silence for an answer', () => {
    expect(judgeAll([])).toEqual({ text: 'NOTHING WAS COMPARED', exitCode: 2 });
  });
});
