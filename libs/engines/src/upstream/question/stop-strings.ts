import type { InferenceRequest } from '@sluice/canonical';
import type { ServerTraits } from '@sluice/formats';

/** Who searches for which stop string. */
export interface SharedStops {
  /** The request with the stop strings that its server accepts. */
  request: InferenceRequest;
  /** The stop strings that we have to search for in the answer. */
  stops: readonly string[];
}

/** Withholds the stop strings for which the model's server would refuse the whole request. */
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

/** All stop strings left to us, for a server that takes none. */
export function withOwnStops<Shared extends SharedStops>(shared: Shared): Shared {
  const { stopSequences, ...sampling } = shared.request.sampling;
  if (stopSequences === undefined) return shared;
  const request = { ...shared.request, sampling };
  return { ...shared, request, stops: [...stopSequences, ...shared.stops] };
}
