import { z } from 'zod';

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
