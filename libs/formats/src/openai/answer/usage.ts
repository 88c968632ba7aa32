import { extend, extensionsOf, type JsonObject, type Usage } from '@sluice/canonical';
import { objectOf } from '../../json/json-object.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { tokenCount } from '../../token-count.ts';
import { FORMAT } from '../wire.ts';

/** The usage of a whole answer; absent if the backend reported nothing, since zeros would be a lie. */
export function encodeUsage(usages: readonly Usage[]): JsonObject | undefined {
  const [first] = usages;
  if (!first) return undefined;
  // Every choice read the same prompt, which counts once; the answers are added up.
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = first;
  const outputTokens = sum(usages.map((usage) => usage.outputTokens));
  const reasoningTokens = sum(usages.map((usage) => usage.reasoningTokens));
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const { prompt_tokens_details, completion_tokens_details, ...kept } = extensionsOf(first, FORMAT) ?? {};
  const promptDetails = {
    ...objectOf(prompt_tokens_details),
    ...(cacheReadTokens !== undefined && { cached_tokens: cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
  };
  const completionDetails = {
    ...objectOf(completion_tokens_details),
    ...(reasoningTokens !== undefined && { reasoning_tokens: reasoningTokens }),
  };
  // Once there is a usage, the dialect demands all three numbers.
  return {
    ...kept,
    prompt_tokens: inputTokens ?? 0,
    completion_tokens: outputTokens ?? 0,
    total_tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
    ...(Object.keys(promptDetails).length > 0 && { prompt_tokens_details: promptDetails }),
    ...(Object.keys(completionDetails).length > 0 && { completion_tokens_details: completionDetails }),
  };
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}

/** The fields of a usage and of its details that are read by name. */
const usageFields = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
]);
const promptFields = new Set(['cached_tokens', 'cache_write_tokens']);
const completionFields = new Set(['reasoning_tokens']);

/**
 * What a server reported. Anything that is not a count is ignored, and so is a prompt of 0 tokens: some servers mean
 * that it was cached (Ollama of 2024), or that they do not count.
 */
export function decodeUsage(wire: JsonObject): Usage {
  const prompt = objectOf(wire.prompt_tokens_details);
  const completion = objectOf(wire.completion_tokens_details);
  const inputTokens = tokenCount(wire.prompt_tokens) || undefined;
  // The latter is SGLang's place and Perplexity's. It is 0 there if nobody counted.
  const reasoningTokens =
    tokenCount(completion.reasoning_tokens) ?? (tokenCount(wire.reasoning_tokens) || undefined);
  const cacheReadTokens =
    tokenCount(prompt.cached_tokens) ??
    tokenCount(wire.prompt_cache_hit_tokens) ??
    tokenCount(wire.cached_tokens);
  // LiteLLM's name, Qwen's, and that of messages, which servers of many dialects repeat here.
  const cacheWriteTokens =
    tokenCount(prompt.cache_write_tokens) ??
    tokenCount(prompt.cache_creation_tokens) ??
    tokenCount(prompt.cache_creation_input_tokens) ??
    tokenCount(wire.cache_creation_input_tokens);
  const completionTokens = tokenCount(wire.completion_tokens);
  const outputTokens = inclusiveOutput(
    inputTokens,
    inputTokens === undefined ? completionTokens || undefined : completionTokens,
    reasoningTokens,
    tokenCount(wire.total_tokens),
    [cacheReadTokens ?? 0, cacheWriteTokens ?? 0],
  );
  const kept = {
    ...keptBeside(wire, usageFields),
    ...nonEmpty('prompt_tokens_details', keptBeside(prompt, promptFields)),
    ...nonEmpty('completion_tokens_details', keptBeside(completion, completionFields)),
  };
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...extend(FORMAT, kept),
  };
}

/**
 * Some servers count reasoning apart from the completion. Either the total shows it, or the reasoning is more than the
 * completion. Gemini's own API counts it in the total only. Servers whose prompt leaves out what was cached may count
 * that in the total, too.
 */
function inclusiveOutput(
  input: number | undefined,
  output: number | undefined,
  reasoning: number | undefined,
  total: number | undefined,
  [read, written]: readonly [read: number, written: number],
): number | undefined {
  if (output === undefined) return output;
  const rest = input === undefined || total === undefined ? 0 : total - input - output;
  if (reasoning === undefined)
    return [read, written, read + written].includes(rest) ? output : output + Math.max(0, rest);
  return reasoning > output || rest === reasoning ? output + reasoning : output;
}

function nonEmpty(name: string, fields: JsonObject): JsonObject {
  return Object.keys(fields).length === 0 ? {} : { [name]: fields };
}
