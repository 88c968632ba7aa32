import type { InferenceRequest } from '@sluice/canonical';

/** The stop strings that servers of a dialect take. */
interface Taken {
  /** How many. */
  most: number;
  takes(stop: string): boolean;
}

const anyText = () => true;
const taken: Readonly<Record<string, Taken>> = {
  openai: { most: 4, takes: anyText },
  anthropic: { most: Number.POSITIVE_INFINITY, takes: (stop) => /\S/.test(stop) },
  gemini: { most: 5, takes: anyText },
};

/** Who looks for which stop string. */
export interface SharedStops {
  /** The request with what its server takes. */
  request: InferenceRequest;
  /** What is left for us to look for in the answer. */
  stops: readonly string[];
}

/** Keeps from a server the stop strings that it would refuse the whole request for. */
export function shareStops(request: InferenceRequest, dialect: string): SharedStops {
  const { stopSequences = [], ...sampling } = request.sampling;
  const { most, takes } = taken[dialect] ?? { most: Number.POSITIVE_INFINITY, takes: anyText };
  const theirs = stopSequences.filter(takes).slice(0, most);
  if (theirs.length === stopSequences.length) return { request, stops: [] };
  return {
    request: { ...request, sampling: { ...sampling, ...(theirs.length > 0 && { stopSequences: theirs }) } },
    stops: stopSequences.filter((stop) => !theirs.includes(stop)),
  };
}
