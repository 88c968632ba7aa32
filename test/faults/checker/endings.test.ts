import { expect, test } from 'vitest';
import { plainPlan } from '../figures/scenario.ts';
import type { Observation } from '../observation.ts';
import { formatFailures } from './endings.ts';
import { createSoundLog } from './seeded-bugs.ts';

const { observations: sound } = createSoundLog();

function createObservation(ending: Pick<Observation, 'status' | 'end'>, message?: string): Observation {
  return {
    plan: plainPlan(0),
    startedAt: 0,
    endedAt: 1,
    arrivedAt: [],
    body: '',
    answer: {
      text: '',
      finishes: 0,
      endMarks: 0,
      eventsAfterEnd: 0,
      malformed: [],
      ...(message !== undefined && { error: { message } }),
    },
    ...ending,
  };
}

test('complete answers have no failures to tell of', () => {
  expect(formatFailures(sound)).toBe('');
});

test('failures are told by how they ended, the most frequent first', () => {
  const unreached = createObservation({ end: 'refused' });
  const refused = createObservation({ status: 503, end: 'clean' }, 'no worker serves it');
  expect(formatFailures([unreached, refused, ...sound, refused])).toBe(
    ' (2 × clean 503: no worker serves it; 1 × refused)',
  );
});
