import type { z } from 'zod';

/**
 * Parse option for strangers' bodies: stop at the first mistake, which is all that is reported. Otherwise zod creates
 * an issue for each of a hundred thousand bad elements. Zod sets it for its own `validate`, which returns no parsed
 * value.
 */
export const firstMistake: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };
