import type {
  InferenceRequest,
  JsonObject,
  OutputFormat,
  Reasoning,
  ReasoningEffort,
  Sampling,
} from '@sluice/canonical';
import { keptOn, leftOver, nested, nestedIn } from './kept.ts';
import { decodeOutput, encodeOutput } from './output.ts';
import type { WireGenerationConfig } from './wire.ts';

/** What `generationConfig` says, `kept` being the fields that only this format understands. */
export interface DecodedConfig {
  sampling: Sampling;
  output?: OutputFormat;
  reasoning?: Reasoning;
  logprobs?: { alternatives: number };
  choices: number;
  kept: JsonObject;
}

export function decodeConfig(config: WireGenerationConfig): DecodedConfig {
  const { candidateCount, responseLogprobs, logprobs, thinkingConfig, ...others } = config;
  const { responseMimeType, responseSchema, responseJsonSchema, ...rest } = others;
  const { temperature, topP, topK, maxOutputTokens, seed, stopSequences, ...tail } = rest;
  const { presencePenalty, frequencyPenalty, ...unknown } = tail;
  const wanted = { temperature, topP, topK, maxOutputTokens, seed, presencePenalty, frequencyPenalty };
  const { responseFormat } = unknown;
  const output = decodeOutput({ responseMimeType, responseSchema, responseJsonSchema, responseFormat });
  const thinking = decodeThinking(thinkingConfig);
  return {
    sampling: { ...present(wanted), ...(stopSequences && stopSequences.length > 0 && { stopSequences }) },
    ...(output.format && { output: output.format }),
    ...(thinking.reasoning && { reasoning: thinking.reasoning }),
    ...(responseLogprobs && { logprobs: { alternatives: logprobs ?? 0 } }),
    choices: candidateCount ?? 1,
    kept: { ...leftOver(unknown), ...output.kept, ...nested('thinkingConfig', thinking.kept) },
  };
}

/** `generationConfig` for an upstream; empty when there is nothing to say. */
export function encodeConfig(request: InferenceRequest): JsonObject {
  const { thinkingConfig: _thinking, ...kept } = nestedIn(keptOn(request), 'generationConfig');
  const { stopSequences, ...numbers } = request.sampling;
  const thinking = encodeThinking(request);
  return {
    ...present(numbers),
    ...(stopSequences && stopSequences.length > 0 && { stopSequences }),
    ...encodeOutput(request.output, kept),
    ...(request.logprobs && { responseLogprobs: true, logprobs: request.logprobs.alternatives }),
    ...nested('thinkingConfig', thinking),
    ...kept,
  };
}

type NumericSampling = Omit<Sampling, 'stopSequences'>;

function present(sampling: { [Name in keyof NumericSampling]: number | undefined }) {
  const said = Object.entries(sampling).filter(([, value]) => value !== undefined);
  // The same names and values, without those that are undefined.
  return Object.fromEntries(said) as NumericSampling & Record<string, number>;
}

const effortOfLevel: Readonly<Record<string, ReasoningEffort>> = {
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
};

/** The dialect has no level above high, and switches thinking off by a budget of 0. */
const levelOfEffort: Readonly<Record<Exclude<ReasoningEffort, 'none'>, string>> = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
};

function decodeThinking(config: WireGenerationConfig['thinkingConfig']): {
  reasoning?: Reasoning;
  kept: JsonObject;
} {
  if (!config) return { kept: {} };
  const { includeThoughts, thinkingBudget, thinkingLevel, ...rest } = config;
  const level = thinkingLevel === undefined ? undefined : effortOfLevel[thinkingLevel.toLowerCase()];
  const effort = thinkingBudget === 0 ? 'none' : level;
  const budgetTokens = thinkingBudget !== undefined && thinkingBudget > 0 ? thinkingBudget : undefined;
  return {
    reasoning: {
      ...(effort && { effort }),
      ...(budgetTokens !== undefined && { budgetTokens }),
      visible: includeThoughts ?? false,
    },
    kept: {
      ...leftOver(rest),
      ...(thinkingBudget === -1 && { thinkingBudget }),
      ...(thinkingLevel !== undefined && !level && { thinkingLevel }),
    },
  };
}

function encodeThinking(request: InferenceRequest): JsonObject {
  const kept = nestedIn(nestedIn(keptOn(request), 'generationConfig'), 'thinkingConfig');
  if (!request.reasoning) return kept;
  const { effort, budgetTokens, visible } = request.reasoning;
  const includeThoughts = visible ?? effort !== 'none';
  // Servers refuse a budget beside a level; the budget is the more exact of the two.
  if (budgetTokens !== undefined) return { includeThoughts, thinkingBudget: budgetTokens, ...kept };
  if (effort === 'none') return { includeThoughts, thinkingBudget: 0, ...kept };
  return { includeThoughts, ...(effort && { thinkingLevel: levelOfEffort[effort] }), ...kept };
}
