import type { InferenceRequest } from '@sluice/canonical';

/** Several answers to one prompt must differ, so each gets the next seed after the given one. */
export function withChoiceSeed(request: InferenceRequest, choice: number): InferenceRequest {
  const { seed } = request.sampling;
  if (choice === 0 || seed === undefined) return request;
  return { ...request, sampling: { ...request.sampling, seed: seed + choice } };
}
