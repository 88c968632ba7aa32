import { z } from 'zod';
import type { EngineKind } from '../engine.ts';

const durationMs = z.number().min(0).max(3_600_000);

/** Configuration of the simulated engine. */
export const simulatedOptions = z.strictObject({
  slots: z
    .int()
    .min(1)
    .max(100_000)
    .default(64)
    .describe('Concurrent generations. A paced one costs next to nothing.'),
  ttftMs: durationMs
    .default(25)
    .describe('Milliseconds before the first token where the prompt orders nothing else.'),
  gapMs: durationMs.default(20).describe('Milliseconds between tokens where the prompt orders nothing else.'),
});
export type SimulatedOptions = z.infer<typeof simulatedOptions>;

/** The built-in model: deterministic text, scripted by directives in the prompt. Needs no weights and no network. */
export const simulated: EngineKind<SimulatedOptions> = {
  kind: 'simulated',
  options: simulatedOptions,
  async create(options, services) {
    const { SimulatedEngine } = await import('./engine.ts');
    return new SimulatedEngine(options, services);
  },
};
