import { type ErrorInfo, type InferenceRequest, outputLimit } from '@sluice/canonical';
import { largestLimit, type ServerTraits, saysLimitTooLarge } from '@sluice/formats';
import type { GenerationRun } from '../../engine.ts';

/** The limit for servers that demand one, if neither the request nor the model has one. */
export const defaultMaxOutputTokens = 8192;

/** The request with the limit to send: none if nobody set one and the server does not demand one. */
export function limitOutput(
  request: InferenceRequest,
  run: GenerationRun,
  { demandOutputLimit }: ServerTraits,
): InferenceRequest {
  const { maxOutputTokens: asked } = request.sampling;
  const needed = asked === undefined && demandOutputLimit ? defaultMaxOutputTokens : undefined;
  const { contextTokens, maxOutputTokens = needed } = run;
  const limit = outputLimit(request, { contextTokens, maxOutputTokens });
  if (limit === undefined || limit === asked) return request;
  return { ...request, sampling: { ...request.sampling, maxOutputTokens: limit } };
}

/**
 * The same request for a server that refused its limit with these words: with the largest limit that it allows, if it
 * said that, else without one. It then gives what is left of its context, which is less than the limit. Absent if there
 * is no limit, or the server demands one.
 */
export function withSmallerLimit(
  request: InferenceRequest,
  refusal: string,
  { demandOutputLimit }: ServerTraits,
): InferenceRequest | undefined {
  const { maxOutputTokens, ...sampling } = request.sampling;
  if (maxOutputTokens === undefined) return undefined;
  const largest = largestLimit(refusal);
  if (largest !== undefined && largest < maxOutputTokens)
    return { ...request, sampling: { ...sampling, maxOutputTokens: largest } };
  return demandOutputLimit ? undefined : { ...request, sampling };
}

/** Whether the server refused because the prompt, the limit, or both together exceed its context. */
export function isRoomRefusal({ detail, message }: ErrorInfo): boolean {
  return detail === 'context-length-exceeded' || saysLimitTooLarge(message);
}
