import { expect, it } from 'vitest';
import { describeGaps } from './gaps.ts';

const sample = (scenario: string, contender: string, measures: object = {}) => ({
  scenario,
  contender,
  measures,
});

it.each([
  [
    'nothing where the gateway has all that others have',
    [sample('one', 'gateway', { ttft1P50: 1, stackPerToken: 2 })],
    '',
  ],
  ['a scenario that the gateway alone has, and failed', [sample('backlog', 'gateway')], 'backlog'],
  ['a figure that no round of the gateway had', [sample('one', 'gateway', { stackPerToken: 2 })], 'one'],
  [
    'nothing where one round had it',
    [sample('one', 'gateway'), sample('one', 'gateway', { ttft1P50: 1 })],
    '',
  ],
  ['nothing of others', [sample('memory', 'nginx')], ''],
])('a benchmark tells of %s', (_, samples, gap) => {
  const text = describeGaps([...samples, sample('one', 'direct', { ttft1P50: 0.2 })], 'gateway');
  expect(text).toBe(gap === '' ? '' : `NOT MEASURED: the gateway has no figure, or not all, of ${gap}.`);
});
