import { type GenerationEvent, type InferenceRequest, outputLimit } from '@sluice/canonical';
import { type ServerTraits, saysLimitTooLarge } from '@sluice/formats';
import type { GenerationRun } from '../engine.ts';

/** For servers that refuse a request without a limit of the answer, where neither the request nor the model has one. */
export const defaultMaxOutputTokens = 8192;

/** The request with the limit that its server is told: none where nobody set one and the server demands none. */
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
 * The same request without a limit, for a server that found no room for it: then it gives what its context has left,
 * which is less than the limit was. Absent where there is no limit, or the server demands one.
 */
export function withoutLimit(
  request: InferenceRequest,
  { demandOutputLimit }: ServerTraits,
): InferenceRequest | undefined {
  const { maxOutputTokens, ...sampling } = request.sampling;
  if (maxOutputTokens === undefined || demandOutputLimit) return undefined;
  return { ...request, sampling };
}

/** Whether prompt and limit together are more than the server's context holds, or one of them alone is. */
export function isRoomRefusal(event: GenerationEvent): boolean {
  if (event.type !== 'error') return false;
  return event.error.detail === 'context-length-exceeded' || saysLimitTooLarge(event.error.message);
}
