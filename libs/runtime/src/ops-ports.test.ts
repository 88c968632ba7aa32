import { expect, it } from 'vitest';
import { opsPorts } from './ops-ports.ts';

it('the operations ports of several processes follow each other', () => {
  expect(opsPorts(9464, 3, 8080)).toEqual(['9464', '9465', '9466']);
  expect(opsPorts(65_534, 2)).toEqual(['65534', '65535']);
  expect(opsPorts(0, 2, 0)).toEqual(['0', '0']);
});

it('where there is no room for them, nothing starts', () => {
  expect(() => opsPorts(65_535, 2)).toThrow(/SLUICE_OPS_PORT: leaves no port for each of 2 processes/);
  expect(() => opsPorts(9464, 4, 9466)).toThrow(/9464 to 9467 .* SLUICE_PORT is one of them/);
});
