import type { JsonObject, ReasoningEffort, Sampling, Tool } from '@sluice/canonical';
import { plainParameters } from '../../calls/plain-parameters.ts';
import { nearestEffort } from '../../efforts.ts';
import { detailsField } from '../answer/reasoning-details.ts';
import { acceptedParameters } from './accepted-parameters.ts';

/** Which settings a model of OpenAI's accepts. Its open models (`gpt-oss`) behave like any other vendor's. */
type Kind = 'reasoning' | 'plain' | 'other';

/** Names that begin so, after the vendor that a router puts before them, and after the mark of a tuned model. */
const named = (beginning: string) => new RegExp(`^(?:.*/)?(?:ft:)?(?:${beginning})`);
const oSeries = 'o[1-9](?:-|$)';
const isOpenAis = named(`gpt-(?!oss)|chatgpt-|${oSeries}`);
const isReasoning = named(`gpt-[5-9](?!.*chat)|${oSeries}`);
const knowsNewerLimitOnly = named(`gpt-[5-9]|${oSeries}`);

function kindOf(model: string): Kind {
  if (!isOpenAis.test(model)) return 'other';
  return isReasoning.test(model) ? 'reasoning' : 'plain';
}

/**
 * The settings that the model accepts. Reasoning models refuse most of them, and none of OpenAI's models knows `topK`.
 */
export function acceptedSampling(sampling: Sampling, model: string): Sampling {
  const kind = kindOf(model);
  if (kind === 'other') return sampling;
  const { topK: _topK, ...known } = sampling;
  if (kind === 'plain') return known;
  const {
    temperature: _temperature,
    topP: _topP,
    frequencyPenalty: _f,
    presencePenalty: _p,
    ...rest
  } = known;
  return rest;
}

/** The messages without the thinking of another model, for which OpenAI's own models have no field. */
export function acceptedMessages(messages: JsonObject[], model: string): JsonObject[] {
  if (kindOf(model) === 'other') return messages;
  return messages.map(
    ({ reasoning_content: _thinking, reasoning: _same, [detailsField]: _sealed, ...message }) => message,
  );
}

/** The tools with their parameters in the form that OpenAI's own models accept, whatever a deployment's name. */
export function acceptedTools(tools: Tool[], model: string): Tool[] {
  const isOther = kindOf(model) === 'other';
  return tools.map((tool) => {
    if (tool.type !== 'function') return tool;
    return {
      ...tool,
      parameters: acceptedParameters(isOther ? tool.parameters : plainParameters(tool.parameters)),
    };
  });
}

/** The name of the output limit: OpenAI's newer models refuse the older one, and some servers know nothing else. */
export function limitField(model: string): 'max_completion_tokens' | 'max_tokens' {
  return knowsNewerLimitOnly.test(model) ? 'max_completion_tokens' : 'max_tokens';
}

/** Whether the model accepts stop strings: reasoning models refuse the field itself. */
export function takesStops(model: string): boolean {
  return kindOf(model) !== 'reasoning';
}

/** The efforts of reasoning models that do not know all. */
const knownEfforts: readonly [model: RegExp, efforts: readonly ReasoningEffort[]][] = [
  [/(?:^|\/|:)o[1-9](?:-|$)/, ['low', 'medium', 'high']],
  [/gpt-5(?:-|$)/, ['minimal', 'low', 'medium', 'high']],
  [/gpt-5\.1(?:-|$)/, ['none', 'low', 'medium', 'high']],
  [/gpt-5\.\d/, ['none', 'low', 'medium', 'high', 'xhigh']],
  [/gpt-6(?:\.\d)?-astra/, ['low', 'medium', 'high', 'xhigh']],
];

/**
 * From 5.4 on, models call functions through this API only while they do not reason, and some reason unless told not
 * to.
 */
const callsUnreasoned = /gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])/;

/**
 * The effort, or the nearest that the model knows; absent for a model that does not reason, which refuses the field
 * itself.
 */
export function acceptedEffort(
  effort: ReasoningEffort | undefined,
  model: string,
  hasTools: boolean,
): ReasoningEffort | undefined {
  const kind = kindOf(model);
  if (kind === 'reasoning' && hasTools && callsUnreasoned.test(model)) return 'none';
  if (effort === undefined || kind === 'plain') return undefined;
  const known = kind === 'other' ? undefined : knownEfforts.find(([pattern]) => pattern.test(model))?.[1];
  return !known || known.includes(effort) ? effort : nearestEffort(effort, known);
}
