import { expect, it } from 'vitest';
import type { RunResult } from '../measures/result.ts';
import { distinctNames } from './run-names.ts';
import { result } from './test-result.ts';

const run = (name: string, target: string, model = 'm'): RunResult => {
  const { scenario, ...rest } = result(name);
  return {
    ...rest,
    scenario: { ...scenario, target, traffic: scenario.traffic.map((t) => ({ ...t, model })) },
  };
};
const names = (runs: readonly RunResult[], files: readonly string[]) =>
  distinctNames(runs, files).map(({ name }) => name);

it('names that differ stay', () => {
  expect(names([run('a', 'http://x'), run('b', 'http://x')], ['1', '2'])).toEqual(['a', 'b']);
});

it.each([
  ['targets', [run('10/s', 'http://x:1'), run('10/s', 'http://y')], ['10/s, x:1', '10/s, y']],
  ['models', [run('10/s', 'http://x', 'a'), run('10/s', 'http://x', 'b')], ['10/s, a', '10/s, b']],
  ['files', [run('10/s', 'http://x'), run('10/s', 'http://x')], ['10/s, 1.json', '10/s, 2.json']],
])('runs of one name are told apart by their %s', (_, runs, expected) => {
  expect(names(runs, ['a/1.json', 'b/2.json'])).toEqual(expected);
});

it('files of one name keep their folders', () => {
  const same = run('10/s', 'http://x');
  expect(names([same, same], ['a/run.json', 'b/run.json'])).toEqual(['10/s, a/run.json', '10/s, b/run.json']);
});

it('the same file twice is counted, and other runs keep their names', () => {
  const same = run('10/s', 'http://x');
  expect(names([same, run('other', 'http://x'), same], ['1', '2', '1'])).toEqual([
    '10/s, #1',
    'other',
    '10/s, #2',
  ]);
});
