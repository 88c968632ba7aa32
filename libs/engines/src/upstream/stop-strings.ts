import type { InferenceRequest } from '@sluice/canonical';
import type { ServerTraits } from '@sluice/formats';

/** Who looks for which stop string. */
export interface SharedStops {
  /** The request with what its server takes. */
  request: InferenceRequest;
  /** What is left for us to look for in the answer. */
  stops: readonly string[];
}

/** Keeps from the server of a model the stop strings that it would refuse the whole request for. */
export function shareStops(
  request: InferenceRequest,
  { stopStrings }: ServerTraits,
  model: string,
): SharedStops {
  const { stopSequences = [], ...sampling } = request.sampling;
  const theirs = stopSequences.filter((stop) => stopStrings.takes(stop, model)).slice(0, stopStrings.most);
  if (theirs.length === stopSequences.length) return { request, stops: [] };
  return {
    request: { ...request, sampling: { ...sampling, ...(theirs.length > 0 && { stopSequences: theirs }) } },
    stops: stopSequences.filter((stop) => !theirs.includes(stop)),
  };
}
