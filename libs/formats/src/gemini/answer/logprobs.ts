import { type FinishEvent, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { keptOn } from '../kept.ts';

/** Log probabilities in the canonical shape (that of chat completions) as `logprobsResult`. */
export function encodeLogprobs(logprobs: readonly Json[]): JsonObject {
  const entries = logprobs.filter(isJsonObject);
  return {
    chosenCandidates: entries.map(encodeCandidate),
    topCandidates: entries.map(({ top_logprobs: top }) => ({
      candidates: Array.isArray(top) ? top.filter(isJsonObject).map(encodeCandidate) : [],
    })),
    logProbabilitySum: entries.reduce((sum, { logprob }) => sum + (Number(logprob) || 0), 0),
  };
}

/** Those of tokens that are no text of the answer, as a call's are. A finish event keeps them. */
export function unspokenLogprobs(finish: FinishEvent): Json[] {
  const { logprobs } = keptOn(finish);
  return Array.isArray(logprobs) ? logprobs : [];
}

function encodeCandidate({ token, logprob, token_id: tokenId }: JsonObject): JsonObject {
  return { token: token ?? '', logProbability: logprob ?? 0, ...(tokenId !== undefined && { tokenId }) };
}

/** `logprobsResult` in the canonical shape. Token ids, which that shape lacks, are kept as an extra field. */
export function decodeLogprobs({ chosenCandidates, topCandidates }: JsonObject): Json[] {
  if (!Array.isArray(chosenCandidates)) return [];
  const tops = Array.isArray(topCandidates) ? topCandidates : [];
  return chosenCandidates.filter(isJsonObject).map((chosen, index) => {
    const top = tops[index];
    const alternatives = isJsonObject(top) && Array.isArray(top.candidates) ? top.candidates : [];
    return {
      ...decodeCandidate(chosen),
      top_logprobs: alternatives.filter(isJsonObject).map(decodeCandidate),
    };
  });
}

function decodeCandidate({ token, logProbability, tokenId }: JsonObject): JsonObject {
  const text = typeof token === 'string' ? token : '';
  return {
    token: text,
    logprob: logProbability ?? 0,
    bytes: [...new TextEncoder().encode(text)],
    ...(tokenId !== undefined && { token_id: tokenId }),
  };
}
