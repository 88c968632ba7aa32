import type { InferenceRequest, JsonObject, Reasoning, ReasoningEffort } from '@sluice/canonical';
import { effortOf } from '../../efforts.ts';
import { keptFields } from '../../json/kept-fields.ts';
import type { Reader } from '../../reader.ts';
import { keptOn, nestedIn } from '../kept.ts';
import type { WireGenerationConfig } from '../wire.ts';

const effortOfLevel: Readonly<Record<string, ReasoningEffort>> = {
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
};

/** A budget of 0 switches thinking off. */
const levelOfEffort: Readonly<Record<Exclude<ReasoningEffort, 'none'>, string>> = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'XHIGH',
  max: 'XHIGH',
};

/** What the client asks of the model's thinking. `kept` is what only this format understands of it. */
export function decodeThinking(config: WireGenerationConfig['thinkingConfig']): {
  reasoning?: Reasoning;
  kept: JsonObject;
} {
  if (!config) return { kept: {} };
  const { includeThoughts, thinkingBudget, thinkingLevel, ...rest } = config;
  const level = thinkingLevel === undefined ? undefined : effortOfLevel[thinkingLevel.toLowerCase()];
  const kept = {
    ...keptFields(rest),
    ...(thinkingBudget === -1 && { thinkingBudget }),
    ...(thinkingLevel !== undefined && !level && { thinkingLevel }),
  };
  // Whether thoughts are shown says nothing of how much is thought, but who wants to see some wants some.
  if (thinkingBudget === undefined && thinkingLevel === undefined && !includeThoughts) {
    return { kept: keptFields({ includeThoughts, ...kept }) };
  }
  const effort = thinkingBudget === 0 ? 'none' : level;
  const budgetTokens = thinkingBudget !== undefined && thinkingBudget > 0 ? thinkingBudget : undefined;
  return {
    reasoning: {
      ...(effort && { effort }),
      ...(budgetTokens !== undefined && { budgetTokens }),
      visible: includeThoughts ?? false,
    },
    kept,
  };
}

/** The range of a model's thinking budget, in tokens. `least` is what it thinks in any case. */
interface Budgets {
  least: number;
  most: number;
}

/**
 * Models from the third generation on take a level, those of 2.5 a budget, older ones neither. A budget is read by the
 * third generation for old clients only, and not relied on.
 */
const levels = /gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)/;
/** The only ones of them that know a level below LOW. */
const minimalists = /gemini-(?:3(?:\.[15])?-flash|3\.\d+-flash-lite|flash-lite-latest)/;
const budgets: readonly [model: RegExp, budgets: Budgets][] = [
  [/gemini-2\.5-pro/, { least: 128, most: 32_768 }],
  [/gemini-2\.5-flash/, { least: 0, most: 24_576 }],
];
/** The least budget above 0 that every model of 2.5 accepts. */
const leastThought = 512;
const thoughtless = /gemini-(?:1\.|2\.0|.*image)/;
const budgetOfEffort: Readonly<Record<Exclude<ReasoningEffort, 'none'>, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
};

/**
 * `thinkingConfig` for an upstream. For a client of another format, which cannot know the model's form, it is in the
 * form that the model accepts.
 */
export function encodeThinking(request: InferenceRequest, { model, isForeign }: Reader): JsonObject {
  const kept = nestedIn(nestedIn(keptOn(request), 'generationConfig'), 'thinkingConfig');
  if (!request.reasoning) return kept;
  if (isForeign && thoughtless.test(model)) return {};
  const { effort, budgetTokens } = isForeign ? accepted(request.reasoning, model) : request.reasoning;
  const includeThoughts = request.reasoning.visible ?? request.reasoning.effort !== 'none';
  // Servers refuse a budget beside a level; the budget is the more exact of the two.
  if (budgetTokens !== undefined) return { includeThoughts, thinkingBudget: budgetTokens, ...kept };
  if (effort === 'none') return { includeThoughts, thinkingBudget: 0, ...kept };
  return { includeThoughts, ...(effort && { thinkingLevel: levelOfEffort[effort] }), ...kept };
}

function accepted({ effort, budgetTokens }: Reasoning, model: string): Reasoning {
  if (levels.test(model)) {
    // These models cannot stop thinking.
    const least = minimalists.test(model) ? 'minimal' : 'low';
    if (effort === 'none' || budgetTokens === 0) return { effort: least };
    const wanted = effort ?? effortOfBudget(budgetTokens);
    return wanted === undefined ? {} : { effort: wanted === 'minimal' ? least : atMostHigh(wanted) };
  }
  const limits = budgets.find(([pattern]) => pattern.test(model))?.[1];
  if (!limits || (effort === undefined && budgetTokens === undefined)) {
    return {
      ...(effort && { effort: atMostHigh(effort) }),
      ...(budgetTokens !== undefined && { budgetTokens }),
    };
  }
  if (effort === 'none' || budgetTokens === 0) {
    return limits.least === 0 ? { effort: 'none' } : { budgetTokens: limits.least };
  }
  const wanted = budgetTokens ?? budgetOfEffort[effort ?? 'high'];
  return { budgetTokens: Math.min(limits.most, Math.max(leastThought, wanted)) };
}

/** Absent if the amount is left to the model, as a negative budget does. */
function effortOfBudget(budget: number | undefined): ReturnType<typeof effortOf> | undefined {
  return budget === undefined || budget < 0 ? undefined : effortOf(budget);
}

/** The level in place of a budget that a model refuses; absent if the amount is left to the model. */
export function levelOf(budget: number): string | undefined {
  const effort = budget === 0 ? 'minimal' : effortOfBudget(budget);
  return effort && levelOfEffort[effort];
}

/** Every model with levels knows HIGH, and hardly one a level above. */
function atMostHigh(effort: ReasoningEffort): ReasoningEffort {
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort;
}
