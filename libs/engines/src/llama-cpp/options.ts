import { z } from 'zod';

const share = z.number().min(0).max(1);

/** How chats are written, by the library's names. */
const chatWrappers = [
  'auto',
  'jinjaTemplate',
  'general',
  'chatML',
  'qwen',
  'deepSeek',
  'mistral',
  'gemma',
  'gemma4',
  'harmony',
  'llama3.2-lightweight',
  'llama3.1',
  'llama3',
  'llama2Chat',
  'functionary',
  'alpacaChat',
  'falconChat',
  'seed',
  'muse',
] as const;

/** Configuration of the embedded engine. */
export const llamaCppOptions = z.strictObject({
  modelPath: z
    .string()
    .min(1)
    .describe(
      'The model: a GGUF file, the first one if it has parts. Relative to the folder in which the worker is started.',
    ),
  slots: z
    .int()
    .min(1)
    .max(256)
    .default(4)
    .describe('Concurrent generations of each process, which are evaluated in shared batches.'),
  contextTokens: z
    .int()
    .min(256)
    .max(10_000_000)
    .default(8192)
    .describe(
      'Prompt plus answer of one generation, rounded up to a multiple of 256 and limited to what the model was trained for. Costs memory per slot.',
    ),
  gpu: z
    .enum(['auto', 'metal', 'cuda', 'vulkan', 'none'])
    .default('auto')
    .describe('What evaluates the model. auto: the best that is available, at least the CPU.'),
  gpuLayers: z.int().min(0).optional().describe('Layers of the model on the GPU. Absent: as many as fit.'),
  threads: z
    .int()
    .min(1)
    .max(1024)
    .optional()
    .describe(
      'Threads on the CPU. Absent: one less than there are cores; the last core is for everything else.',
    ),
  chatWrapper: z
    .enum(chatWrappers)
    .default('auto')
    .describe(
      "How chats, calls and thoughts are written for the model. auto: by the file's own template, or if it has none that works, by a guess. jinjaTemplate: by that template only.",
    ),
  sampling: z
    .strictObject({
      temperature: z
        .number()
        .min(0)
        .max(5)
        .default(0.8)
        .describe('Temperature of requests that set none. 0: always the likeliest token.'),
      topK: z
        .int()
        .min(0)
        .default(40)
        .describe('For requests that set none: sample from this many of the likeliest tokens. 0: all.'),
      topP: share
        .default(0.95)
        .describe(
          'For requests that set none: sample from the likeliest tokens up to this share of probability.',
        ),
      minP: share
        .default(0.05)
        .describe(
          'For every request: never sample a token that is less likely than this share of the likeliest.',
        ),
    })
    .prefault({}),
});
export type LlamaCppOptions = z.infer<typeof llamaCppOptions>;
