import type { RunLog } from '../observation.ts';
import { checkAnswers } from './check-answers.ts';
import { checkSystem } from './check-system.ts';
import type { Violation } from './violation.ts';

/** Checks the whole log of a run against the invariants. Pure: the same log gives the same verdict. */
export function check(log: RunLog): Violation[] {
  return [...checkAnswers(log), ...checkSystem(log)];
}
