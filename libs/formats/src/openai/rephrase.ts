import type { JsonObject } from '@sluice/canonical';

/**
 * The body without what a server of this dialect refused in these words. Azure's deployments have names of their own, so
 * that ours can't tell which model takes `max_completion_tokens` alone; its older versions, and some other servers,
 * do not know `stream_options`. Absent: it is neither.
 */
export function rephrase(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream_options: options, max_tokens: limit, ...rest } = body;
  if (options !== undefined && refusal.includes('stream_options')) {
    return { ...rest, ...(limit !== undefined && { max_tokens: limit }) };
  }
  if (limit !== undefined && refusal.includes('max_completion_tokens')) {
    return {
      ...rest,
      ...(options !== undefined && { stream_options: options }),
      max_completion_tokens: limit,
    };
  }
  return undefined;
}
