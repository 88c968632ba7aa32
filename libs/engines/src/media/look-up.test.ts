import { describe, expect, it } from 'vitest';
import { lookUpByDns } from './look-up.ts';

describe('a look-up in DNS', () => {
  it('finds nothing after an abort, before it began or midway', async () => {
    expect(await lookUpByDns('files.invalid', AbortSignal.abort())).toEqual([]);
    const aborting = new AbortController();
    const found = lookUpByDns('files.invalid', aborting.signal);
    aborting.abort();
    expect(await found).toEqual([]);
  });
});
