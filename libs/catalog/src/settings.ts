import { longestTimerMs } from '@sluice/runtime';
import { z } from 'zod';

const durationMs = () => z.number().int().min(1).max(longestTimerMs);
const tokens = () => z.number().int().min(1);

const backendSettings = z.looseObject({
  engine: z.string().min(1).describe('The kind of engine. Its own options are beside it.'),
});

const poolSettings = z.strictObject({
  backend: backendSettings,
  waitBudgetMs: durationMs()
    .default(30_000)
    .describe('Longest expected wait for a slot; a request that would wait longer is refused with 429.'),
  maxWaiting: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Most requests that may wait. Absent: the wait budget alone decides.'),
});

const modelSettings = z.strictObject({
  pool: z.string().describe('The pool that serves the model.'),
  backendModel: z
    .string()
    .min(1)
    .optional()
    .describe('The model’s name at the backend. Absent: the same name.'),
  displayName: z
    .string()
    .min(1)
    .optional()
    .describe('The model’s name in lists, for people. Absent: the same name.'),
  createdAt: z
    .union([z.number().int().min(0), z.iso.datetime({ offset: true }), z.iso.date()], {
      error: 'must be a date such as 2026-01-31 or epoch milliseconds',
    })
    .optional()
    .describe(
      'When the model was made, for lists: a date or epoch milliseconds. Absent: the start of the epoch.',
    ),
  contextTokens: tokens()
    .optional()
    .describe(
      'Largest prompt plus answer in tokens, shown to clients in model lists. Output limits are clamped to what ' +
        'the prompt leaves of it. Absent: not known.',
    ),
  maxOutputTokens: tokens()
    .optional()
    .describe(
      'Largest answer in tokens: the limit if a client sets none, and the maximum if it sets one. Absent: not known.',
    ),
  requestTimeoutMs: durationMs()
    .optional()
    .describe('Deadline of a request. Absent: SLUICE_REQUEST_TIMEOUT_MS.'),
  fallbacks: z
    .array(z.string())
    .default([])
    .describe(
      'Models that answer instead, in this order, while a client has nothing of an answer: where the pool is ' +
        'saturated or without workers, or its server fails. Those of a fallback do not count.',
    ),
});

/** The catalogue as it stands in its file. */
export const catalogSettings = z.strictObject({
  // names.ts checks the names: a key schema here would hide the mistakes behind a wrong name.
  pools: z.record(z.string(), poolSettings),
  models: z.record(z.string(), modelSettings),
  aliases: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Other names of models. A name may hold one *, and the longest match wins. Lists show an alias only to ' +
        'keys that may use it but not its model.',
    ),
});
export type CatalogSettings = z.output<typeof catalogSettings>;

/** The built-in catalogue, used if no file is configured: one simulated model under every vendor's names. */
export const defaultCatalogSettings = {
  pools: { sim: { backend: { engine: 'simulated', slots: 256 }, waitBudgetMs: 30_000 } },
  models: {
    sim: { pool: 'sim', displayName: 'Simulated model', contextTokens: 131_072, maxOutputTokens: 32_768 },
  },
  aliases: { 'gpt-*': 'sim', 'o*': 'sim', 'claude-*': 'sim', 'gemini-*': 'sim' },
} as const satisfies z.input<typeof catalogSettings>;
