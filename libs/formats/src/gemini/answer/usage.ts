import { extend, type JsonObject, type Usage } from '@sluice/canonical';
import { keptFields } from '../../json/kept-fields.ts';
import { FORMAT, keptOn } from '../kept.ts';
import type { WireUsage } from '../wire.ts';

/*
 * Canonical totals are inclusive. On this wire the prompt also includes cached tokens, but tokens of tool results
 * (`toolUsePromptTokenCount`) and thoughts are counted apart from the prompt and the answer.
 */

/** `usageMetadata`; unknown counts are left out. `textOnly`: all prompt tokens are text. */
export function encodeUsage(usage: Usage, textOnly: boolean): JsonObject {
  const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens } = usage;
  const kept = keptOn(usage);
  const { toolUsePromptTokenCount: toolUse } = kept;
  const promptTokenCount =
    inputTokens === undefined
      ? undefined
      : Math.max(0, inputTokens - (typeof toolUse === 'number' ? toolUse : 0));
  const isKnown = inputTokens !== undefined || outputTokens !== undefined;
  return {
    ...(promptTokenCount !== undefined && { promptTokenCount }),
    ...(cacheReadTokens && { cachedContentTokenCount: cacheReadTokens }),
    ...(outputTokens !== undefined && {
      candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    }),
    ...(reasoningTokens && { thoughtsTokenCount: reasoningTokens }),
    ...(isKnown && { totalTokenCount: (inputTokens ?? 0) + (outputTokens ?? 0) }),
    ...(textOnly && promptTokenCount !== undefined && { promptTokensDetails: textTokens(promptTokenCount) }),
    ...kept,
  };
}

/** The modality list of a prompt of nothing but text. */
export function textTokens(tokenCount: number): JsonObject[] {
  return [{ modality: 'TEXT', tokenCount }];
}

/**
 * Counts that the server left out stay absent. An input of 0 means not known, since every prompt has tokens: a router
 * ends a stream with zeros if it did not ask the server behind it to count (LiteLLM of late 2026).
 */
export function decodeUsage(wire: WireUsage): Usage {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, cachedContentTokenCount, ...others } =
    wire;
  const { toolUsePromptTokenCount, totalTokenCount, ...rest } = others;
  const kept = keptFields({ ...rest, toolUsePromptTokenCount });
  // `encodeUsage` writes a list that only says that all of it was text again by itself.
  const plain = promptTokenCount === undefined ? [] : textTokens(promptTokenCount);
  if (JSON.stringify(kept.promptTokensDetails) === JSON.stringify(plain)) delete kept.promptTokensDetails;
  const inputTokens =
    promptTokenCount === undefined ? undefined : promptTokenCount + (toolUsePromptTokenCount ?? 0);
  const outputTokens = outputOf(wire, inputTokens);
  const isCounted = inputTokens !== 0;
  return {
    ...(inputTokens && { inputTokens }),
    ...(outputTokens !== undefined && (outputTokens > 0 || isCounted) && { outputTokens }),
    ...(cachedContentTokenCount !== undefined && { cacheReadTokens: cachedContentTokenCount }),
    ...(thoughtsTokenCount !== undefined && { reasoningTokens: thoughtsTokenCount }),
    ...extend(FORMAT, kept),
  };
}

function outputOf(wire: WireUsage, inputTokens: number | undefined): number | undefined {
  const { candidatesTokenCount, thoughtsTokenCount, totalTokenCount } = wire;
  if (candidatesTokenCount !== undefined) return candidatesTokenCount + (thoughtsTokenCount ?? 0);
  if (thoughtsTokenCount !== undefined) return thoughtsTokenCount;
  // Servers leave out a count of zero. The total tells a zero from a count that was not taken.
  return inputTokens !== undefined && totalTokenCount === inputTokens ? 0 : undefined;
}

/** The usage of an answer with several choices: the prompt once, the outputs of all. */
export function addUsage(total: Usage, next: Usage): Usage {
  const sum = (left: number | undefined, right: number | undefined) =>
    left === undefined ? right : left + (right ?? 0);
  const outputTokens = sum(total.outputTokens, next.outputTokens);
  const reasoningTokens = sum(total.reasoningTokens, next.reasoningTokens);
  return {
    ...next,
    ...total,
    ...(outputTokens !== undefined && { outputTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}
