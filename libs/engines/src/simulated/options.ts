import { z } from 'zod';

const durationMs = z.number().min(0).max(3_600_000);

/** Configuration of the simulated engine. */
export const simulatedOptions = z.strictObject({
  slots: z
    .int()
    .min(1)
    .max(100_000)
    .default(64)
    .describe('Concurrent generations. One with pauses between its tokens costs next to nothing.'),
  ttftMs: durationMs
    .default(25)
    .describe('Milliseconds before the first token, unless the prompt orders otherwise.'),
  gapMs: durationMs.default(20).describe('Milliseconds between tokens, unless the prompt orders otherwise.'),
});
export type SimulatedOptions = z.infer<typeof simulatedOptions>;
