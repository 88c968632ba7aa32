import { expect, test } from 'vitest';
import { parseFlags } from './flags.ts';

const parse = (...words: string[]) => parseFlags(words, [{ name: 'one' }, { name: 'some' }]);

test('a quick look is one round, unless more are asked for', () => {
  expect(parse()).toMatchObject({ quick: false, rounds: 3, only: [], hops: false, redis: 'socket' });
  expect(parse('--quick')).toMatchObject({ quick: true, rounds: 1 });
  expect(parse('--quick', '--rounds', '2', '--only', 'some,one')).toMatchObject({
    rounds: 2,
    only: ['some', 'one'],
  });
});

test.each([
  [['--check', '5', '--only', 'one'], '--only changes nothing of --check'],
  [['--check', '5', '--quick'], '--quick changes nothing of --check'],
  [['--check', '5', '--past-saturation'], '--past-saturation changes nothing of --check'],
  [['--check', '5', '--hops'], '--hops changes nothing of --check'],
  [['--past-saturation', '--rounds', '5'], '--rounds changes nothing of --past-saturation'],
  [['--only', 'two'], 'there is no two; there are one, some'],
])('%j is refused', (words, message) => {
  expect(() => parse(...words)).toThrow(message);
});

test('another gateway is sent its own headers', () => {
  const { urls, upstreamPort } = parse(
    ...['--url', 'a=http://127.0.0.1:1#k', '--url', 'b=http://127.0.0.1:2', '--upstream-port', '9000'],
    ...['--header', 'b:x-to=http://127.0.0.1:9000/v1', '--header', 'b:x-of=c'],
  );
  expect(urls).toEqual([
    { name: 'a', url: 'http://127.0.0.1:1', key: 'k', headers: [] },
    { name: 'b', url: 'http://127.0.0.1:2', headers: ['x-to=http://127.0.0.1:9000/v1', 'x-of=c'] },
  ]);
  expect(upstreamPort).toBe(9000);
});

test.each([
  ['x-to=1', '--header is written as name:header=value'],
  ['c:x-to=1', '--header is for c, which no --url names'],
])('the header %s is refused', (header, message) => {
  expect(() => parse('--url', 'a=http://127.0.0.1:1', '--header', header)).toThrow(message);
});

test('what both runs heed is taken', () => {
  expect(parse('--past-saturation', '--quick', '--redis', 'tcp')).toMatchObject({ pastSaturation: true });
  expect(parse('--check', '5', '--redis', 'tcp', '--output', 'x')).toMatchObject({ check: 5, output: 'x' });
});
