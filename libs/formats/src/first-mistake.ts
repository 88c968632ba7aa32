import type { z } from 'zod';

/**
 * How a stranger's body is parsed: its first mistake is all that is told. Zod goes on otherwise and makes an issue of each
 * of a hundred thousand bad elements. It sets this for its own `validate`, which gives no parsed value.
 */
export const firstMistake: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };
