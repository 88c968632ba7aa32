import { expect, it } from 'vitest';
import { havePortInCommon, opsPorts } from './ops-ports.ts';

const host = '127.0.0.1';
const api = (first: number, at = host) => ({ host: at, first, count: 1 });

it('the operations ports of several processes follow each other', () => {
  expect(opsPorts({ host, first: 9464, count: 3 }, api(8080))).toEqual(['9464', '9465', '9466']);
  expect(opsPorts({ host, first: 65_534, count: 2 })).toEqual(['65534', '65535']);
  expect(opsPorts({ host, first: 0, count: 2 }, api(0))).toEqual(['0', '0']);
});

it('where there is no room for them, nothing starts', () => {
  expect(() => opsPorts({ host, first: 65_535, count: 2 })).toThrow(
    /SLUICE_OPS_PORT: leaves no port for each of 2 processes/,
  );
  expect(() => opsPorts({ host, first: 9464, count: 4 }, api(9466))).toThrow(
    /9464 to 9467 .* SLUICE_PORT is one of them/,
  );
});

it('a single process needs two ports as well, unless they are of two addresses', () => {
  const operations = { host, first: 8080, count: 1 };
  const mistake = /SLUICE_OPS_PORT: is SLUICE_PORT as well \(8080\)/;
  for (const at of [host, '0.0.0.0', '::'])
    expect(() => opsPorts(operations, api(8080, at))).toThrow(mistake);
  expect(() => opsPorts({ ...operations, host: '::' }, api(8080))).toThrow(mistake);
  expect(opsPorts(operations, api(8080, '10.0.0.1'))).toEqual(['8080']);
});

it.each([
  [8080, 1, 8080, 1, true],
  [8080, 1, 8081, 1, false],
  [8080, 3, 8082, 2, true],
  [8080, 3, 8083, 2, false],
  [8082, 2, 8080, 3, true],
  [8083, 2, 8080, 3, false],
  [0, 9000, 8080, 1, false],
])('ports from %d (%d) and from %d (%d) meet: %s', (first, count, otherFirst, otherCount, meet) => {
  const [one, other] = [
    { host, first, count },
    { host, first: otherFirst, count: otherCount },
  ];
  expect([havePortInCommon(one, other), havePortInCommon(other, one)]).toEqual([meet, meet]);
});
