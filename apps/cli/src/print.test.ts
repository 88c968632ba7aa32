import { expect, it } from 'vitest';
import { formatTable } from './print.ts';

it('columns are as wide as their widest cell', () => {
  expect(formatTable(['ID', 'NAME'], [['a-long-one', 'x'], ['b']], 'none')).toBe(
    ['ID          NAME', 'a-long-one  x', 'b'].join('\n'),
  );
});

it('a table may be as long as an installation has keys', () => {
  const rows = Array.from({ length: 150_000 }, (_, index) => [`key_${index}`]);
  expect(formatTable(['ID'], rows, 'none').split('\n')).toHaveLength(rows.length + 1);
});
