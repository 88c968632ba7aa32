import { describe, expect, it } from 'vitest';
import { timeMs, wholeNumber } from './flag-value.ts';

describe('a number of a flag', () => {
  const port = (text: string) => wholeNumber('port', text, { from: 0, to: 65_535 });

  it('is whole and within its bounds', () => {
    expect([port('0'), port('9000'), port('65535')]).toEqual([0, 9000, 65_535]);
  });

  it.each(['', ' ', 'abc', '1.5', '-1', '65536', '9000x'])('is not %j', (text) => {
    expect(() => port(text)).toThrow(`--port is a whole number from 0 to 65535, not ${JSON.stringify(text)}`);
  });
});

describe('a time of a flag', () => {
  it('has a unit, or is none at all', () => {
    expect([timeMs('warmup', '30s'), timeMs('warmup', '80us'), timeMs('warmup', '0')]).toEqual([
      30_000, 0.08, 0,
    ]);
  });

  it.each(['30', '1.5', '', 'soon'])('is not %j', (text) => {
    expect(() => timeMs('duration', text)).toThrow(
      `--duration is a time with its unit, such as 250ms, 1.5s or 2m, not`,
    );
  });
});
