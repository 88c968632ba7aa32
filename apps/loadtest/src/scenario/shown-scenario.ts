import type { Scenario } from './scenario.ts';
import { shownTarget } from './target.ts';

/** A scenario as results may say it. */
export type ShownScenario = Omit<Scenario, 'keys'> & { keys: number };

/** The scenario without what may be a credential: keys are counted, of headers and queries the names stay. */
export function shownScenario(scenario: Scenario, keys: number): ShownScenario {
  const headers = Object.keys(scenario.headers).map((name) => [name, '…'] as const);
  return { ...scenario, target: shownTarget(scenario.target), headers: Object.fromEntries(headers), keys };
}
