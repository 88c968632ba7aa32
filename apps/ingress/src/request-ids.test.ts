import { expect, it } from 'vitest';
import { createRequestIds } from './request-ids.ts';

it('every request has an id of its own, even across refills of the random bytes', () => {
  const [one, other] = [createRequestIds(), createRequestIds()];
  const ids = Array.from({ length: 1_000 }, () => [one(), other()]).flat();
  expect(new Set(ids).size).toBe(2_000);
  expect(ids.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([]);
});
