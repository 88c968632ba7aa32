import type { z } from 'zod';

/**
 * Parse option for strangers' bodies: stop at the first mistake, which is all that is reported. Otherwise zod creates
 * an issue for each of a hundred thousand bad elements. Zod sets it for its own `validate`, which returns no parsed
 * value.
 */
export const firstMistake: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** What is said of a field that is not there. */
export const MISSING = 'is required';

/** Whether a mistake is a field that is not there. Zod tells it from one of another type by its message alone. */
export function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
}
