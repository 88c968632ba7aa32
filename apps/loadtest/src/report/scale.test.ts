import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createScale, fitScale, type ScaleKind } from './scale.ts';

describe('an axis', () => {
  it.each<[ScaleKind, number[], number[]]>([
    ['linear', [1], [0, 0.2, 0.4, 0.6, 0.8, 1]],
    ['linear', [234], [0, 50, 100, 150, 200, 250]],
    ['linear', [0], [0, 0.2]],
    ['log', [0.02, 7.9], [0.01, 0.1, 1, 10]],
    ['log', [5], [1, 10]],
    ['percentile', [99.95], [50, 90, 99, 99.9]],
  ])('that is %s names round numbers for %j', (kind, values, ticks) => {
    expect(createScale(kind, values).ticks).toEqual(ticks);
  });

  it('has a place for every value and tick, in their order, and none of its names is a long fraction', () => {
    const value = fc.double({ min: 0.001, max: 100_000, noNaN: true });
    const kinds = fc.constantFrom<ScaleKind>('linear', 'log');
    fc.assert(
      fc.property(kinds, fc.array(value, { minLength: 1, maxLength: 20 }), (kind, values) => {
        const { place, ticks } = createScale(kind, values);
        const places = [...values, ...ticks].sort((a, b) => a - b).map(place);
        for (const at of places) expect(at).toBeGreaterThanOrEqual(0);
        for (const at of places) expect(at).toBeLessThanOrEqual(1 + 1e-9);
        expect(places).toEqual([...places].sort((a, b) => a - b));
        for (const tick of ticks) expect(String(tick).length).toBeLessThan(8);
      }),
    );
  });

  it('is logarithmic where values span more than a factor of thirty', () => {
    expect(fitScale([1, 29])).toBe('linear');
    expect(fitScale([1, 31])).toBe('log');
    expect(fitScale([0, 1])).toBe('linear');
    expect(fitScale([])).toBe('linear');
  });
});
