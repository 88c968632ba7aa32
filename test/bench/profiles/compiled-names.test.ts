import { expect, it } from 'vitest';
import { nameAddresses } from './compiled-names.ts';

it('names an address after the last code that was there', () => {
  const map = ['1000 10 first', '2000 20 second', '1008 4 third', 'no line of a map', ''].join('\n');
  const names = nameAddresses(map, [0xfff, 0x1000, 0x1007, 0x1008, 0x100b, 0x100c, 0x1010, 0x201f]);
  expect([...names].sort()).toEqual([
    [0x1000, 'first'],
    [0x1007, 'first'],
    [0x1008, 'third'],
    [0x100b, 'third'],
    [0x100c, 'first'],
    [0x201f, 'second'],
  ]);
});
