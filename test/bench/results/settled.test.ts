import { describe, expect, it } from 'vitest';
import { hasSettled } from './settled.ts';

describe('warming up', () => {
  it('goes on while the last two warm-ups were cheaper than all before', () => {
    expect(hasSettled([82])).toBe(false);
    expect(hasSettled([82, 60])).toBe(false);
    expect(hasSettled([82, 60, 54])).toBe(false);
  });

  it('goes on after a dear one among cheaper ones', () => {
    expect(hasSettled([82, 60, 64])).toBe(false);
    expect(hasSettled([82, 60, 64, 54])).toBe(false);
  });

  it('ends after two that were no cheaper', () => {
    expect(hasSettled([82, 60, 64, 59])).toBe(true);
    expect(hasSettled([20, 20, 20])).toBe(true);
  });

  it('ends at once for whoever has no known processes', () => {
    expect(hasSettled([])).toBe(false);
    expect(hasSettled([undefined])).toBe(true);
  });

  it('ends some day even if the costs go on falling', () => {
    expect(hasSettled([90, 80, 70, 60, 50, 40, 30])).toBe(false);
    expect(hasSettled([90, 80, 70, 60, 50, 40, 30, 20])).toBe(true);
  });
});
