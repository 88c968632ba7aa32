import type { JsonObject, Sampling } from '@sluice/canonical';
import type { Reader } from '../../reader.ts';
import type { RequestBody } from '../wire.ts';
import { isClaude, thinkingFormOf } from './claude-models.ts';

/** The lowest `top_p` that servers accept together with thinking. */
const leastTopP = 0.95;

/** A `top_k` of 0 limits nothing. Other dialects refuse a 0, so it is kept only for servers of this one. */
export function decodeSampling(known: RequestBody): Sampling {
  const { max_tokens, temperature, top_p, top_k, stop_sequences } = known;
  return {
    ...(max_tokens !== undefined && { maxOutputTokens: max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(top_k && { topK: top_k }),
    ...(stop_sequences !== undefined && stop_sequences.length > 0 && { stopSequences: stop_sequences }),
  };
}

/** For which model and client the settings are meant. */
export interface SamplingTarget extends Reader {
  /** Whether the body asks for thinking. */
  isThinking: boolean;
}

/**
 * The settings for a server. Claude refuses some combinations, and some settings together with thinking. A client of
 * another format cannot know that and often sends them by default, so for such a client they are left out.
 */
export function encodeSampling(sampling: Sampling, target: SamplingTarget): JsonObject {
  const { temperature, topP, topK, stopSequences } =
    target.isForeign && isClaude(target.model) ? accepted(sampling, target) : sampling;
  return {
    ...(temperature !== undefined && { temperature: Math.min(1, temperature) }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stopSequences !== undefined && { stop_sequences: stopSequences }),
  };
}

function accepted(sampling: Sampling, { model, isThinking }: SamplingTarget): Sampling {
  const { temperature, topP, topK, ...rest } = sampling;
  if (thinkingFormOf(model) === 'adaptive') return rest;
  if (isThinking) return { ...rest, ...(topP !== undefined && topP >= leastTopP && { topP }) };
  // At most one of the two. A temperature of 1 is the default, so `topP` wins then.
  const isTempered = temperature !== undefined && (temperature < 1 || topP === undefined);
  return {
    ...rest,
    ...(topK !== undefined && { topK }),
    ...(isTempered ? { temperature } : topP !== undefined && { topP }),
  };
}
