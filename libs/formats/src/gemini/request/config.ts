import type { InferenceRequest, JsonObject, OutputFormat, Reasoning, Sampling } from '@sluice/canonical';
import { keptFields } from '../../json/kept-fields.ts';
import type { Reader } from '../../reader.ts';
import { keptOn, nested, nestedIn } from '../kept.ts';
import type { WireGenerationConfig } from '../wire.ts';
import { decodeOutput, encodeOutput, outputInstruction } from './output.ts';
import { decodeThinking, encodeThinking } from './thinking.ts';

/** What `generationConfig` says. `kept` holds the fields that only this format understands. */
export interface DecodedConfig {
  sampling: Sampling;
  output?: OutputFormat;
  reasoning?: Reasoning;
  logprobs?: { alternatives: number };
  choices: number;
  kept: JsonObject;
}

/** Decodes `generationConfig`. */
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
    kept: { ...keptFields(unknown), ...output.kept, ...nested('thinkingConfig', thinking.kept) },
  };
}

/** `generationConfig` for an upstream; empty if there is nothing to say. */
export function encodeConfig(request: InferenceRequest, reader: Reader): JsonObject {
  const { thinkingConfig: _thinking, ...kept } = nestedIn(keptOn(request), 'generationConfig');
  const { stopSequences, ...numbers } = reader.isForeign ? accepted(request.sampling) : request.sampling;
  const thinking = encodeThinking(request, reader);
  return {
    ...present(numbers),
    ...(stopSequences && stopSequences.length > 0 && { stopSequences }),
    ...(outputInstruction(request, reader) === undefined && encodeOutput(request.output, kept)),
    ...(request.logprobs && { responseLogprobs: true, logprobs: request.logprobs.alternatives }),
    ...nested('thinkingConfig', thinking),
    ...kept,
  };
}

/** Servers read a seed as a signed number of 32 bits and refuse a larger one, such as a time in milliseconds. */
const seedRange = 2 ** 31;

/**
 * The settings of a client of another format, as servers accept them. A penalty of 0 is no penalty, but many clients
 * send it, and models that know no penalties refuse it.
 */
function accepted({ frequencyPenalty, presencePenalty, seed, ...sampling }: Sampling): Sampling {
  return {
    ...sampling,
    ...(seed !== undefined && { seed: seed % seedRange }),
    ...(frequencyPenalty && { frequencyPenalty }),
    ...(presencePenalty && { presencePenalty }),
  };
}

type NumericSampling = Omit<Sampling, 'stopSequences'>;

function present(sampling: { [Name in keyof NumericSampling]: number | undefined }) {
  const said = Object.entries(sampling).filter(([, value]) => value !== undefined);
  // Safe to cast: the same names and values, without those that are undefined.
  return Object.fromEntries(said) as NumericSampling & Record<string, number>;
}
