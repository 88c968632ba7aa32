import { estimateInputTokens } from './estimate.ts';
import type { InferenceRequest } from './request.ts';

/** How long the answers of a model may be; what is absent is not known. */
export interface ModelLimits {
  /** Prompt plus answer in tokens. */
  contextTokens?: number | undefined;
  /** The answer alone. */
  maxOutputTokens?: number | undefined;
}

/**
 * The part of the context that an answer may always have: the prompt is only estimated, and an estimate that is too
 * high must not cut an answer to nothing.
 */
const leastShare = 1 / 16;

/**
 * The most tokens that an answer may have: what the request asks for, at most what the model gives, at most what the
 * context leaves beside the prompt; at least 1. Absent where neither request nor model has a limit: the room alone
 * is none. `inputTokens` are those of the prompt; absent: they are estimated.
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
  // Most wishes are that small, and an estimate reads the whole prompt.
  if (limit <= least) return limit;
  return Math.min(limit, Math.max(least, contextTokens - (inputTokens ?? estimateInputTokens(request))));
}
