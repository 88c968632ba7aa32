import type { Scenario } from './scenario.ts';
import { shownTarget } from './target.ts';

/** A scenario as results may show it. */
export type ShownScenario = Omit<Scenario, 'keys'> & { keys: number };

/**
 * The scenario without anything that may be a credential: keys become their number, headers and queries their names.
 */
export function shownScenario(scenario: Scenario, keys: number): ShownScenario {
  const headers = Object.keys(scenario.headers).map((name) => [name, '…'] as const);
  return { ...scenario, target: shownTarget(scenario.target), headers: Object.fromEntries(headers), keys };
}
