import type { EngineKind } from '../engine.ts';
import { type SimulatedOptions, simulatedOptions } from './options.ts';

/** The built-in model: deterministic text, scripted by directives in the prompt. Needs no weights and no network. */
export const simulated: EngineKind<SimulatedOptions> = {
  kind: 'simulated',
  options: simulatedOptions,
  async create(options, services) {
    const { SimulatedEngine } = await import('./engine.ts');
    return new SimulatedEngine(options, services);
  },
};
