import { estimateInputTokens } from './estimate.ts';
import type { InferenceRequest } from './request.ts';

/** How long a model's answers may be; an absent limit is not known. */
export interface ModelLimits {
  /** Prompt plus answer, in tokens. */
  contextTokens?: number | undefined;
  /** The answer alone. */
  maxOutputTokens?: number | undefined;
}

/**
 * The share of the context that an answer may always have. The prompt is only estimated, and an estimate that is too
 * high must not cut the answer to nothing.
 */
const leastShare = 1 / 16;

/**
 * The most tokens that an answer may have; 0 only if the request asks for none. It is the least of what the request asks
 * for, what the model allows, and what the prompt leaves of the context. Absent when neither the request nor the model
 * sets a limit: the context alone sets none. `inputTokens` is the size of the prompt; absent means it is estimated.
 */
export function outputLimit(
  request: InferenceRequest,
  { contextTokens = Number.POSITIVE_INFINITY, maxOutputTokens = Number.POSITIVE_INFINITY }: ModelLimits,
  inputTokens?: number,
): number | undefined {
  const { maxOutputTokens: asked = Number.POSITIVE_INFINITY } = request.sampling;
  const limit = Math.min(asked, maxOutputTokens);
  if (limit === Number.POSITIVE_INFINITY) return undefined;
  const least = Math.ceil(contextTokens * leastShare);
  // Most requests ask for no more than this. It saves an estimate, which reads the whole prompt.
  if (limit <= least) return limit;
  return Math.min(limit, Math.max(least, contextTokens - (inputTokens ?? estimateInputTokens(request))));
}
