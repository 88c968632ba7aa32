import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Reasoning,
  type ReasoningEffort,
} from '@sluice/canonical';
import { effortNamed, effortOf } from '../../efforts.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import type { Reader } from '../../reader.ts';
import { alwaysThinks, knowsXhigh, thinkingFormOf } from '../request/claude-models.ts';
import { invalid } from '../wire.ts';

type AskingEffort = Exclude<ReasoningEffort, 'none'>;
const effortWord: Readonly<Record<AskingEffort, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};
/** All words of the dialect for an effort. */
const words: ReadonlySet<unknown> = new Set(Object.values(effortWord));
const budgetFor: Readonly<Record<AskingEffort, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 31_999,
};
const leastBudget = 1024;

/** What `thinking` and `output_config` say, and what only this format can express. */
export interface DecodedThinking {
  reasoning?: Reasoning;
  kept: JsonObject;
}

/**
 * Reads how much the client wants the model to think. An unknown type of thinking counts as disabled and is kept
 * verbatim for servers of this dialect.
 */
export function decodeThinking(thinking: JsonObject | undefined, config: JsonObject): DecodedThinking {
  const word = config.effort;
  const effort = words.has(word) ? effortNamed(word) : undefined;
  const kept = keptBeside(config, new Set(effort === undefined ? [] : ['effort']));
  const keptConfig: JsonObject = Object.keys(kept).length === 0 ? {} : { output_config: kept };
  if (thinking === undefined) {
    // Null records that the client asked for effort alone: adding `thinking` would make it another request.
    return effort === undefined
      ? { kept: keptConfig }
      : { reasoning: { effort }, kept: { ...keptConfig, thinking: null } };
  }
  const { display } = thinking;
  const visible = display === 'omitted' ? false : display === 'summarized' ? true : undefined;
  const shown = { ...(effort && { effort }), ...(visible !== undefined && { visible }) };
  const verbatim = needsVerbatim(thinking) ? { thinking } : {};
  switch (thinking.type) {
    case 'adaptive':
      return { reasoning: shown, kept: { ...keptConfig, ...verbatim } };
    case 'enabled':
      return {
        reasoning: { ...shown, budgetTokens: budgetOf(thinking) },
        kept: { ...keptConfig, ...verbatim },
      };
    default: {
      const unsaid = effort === undefined ? keptConfig : { output_config: { ...kept, effort: word ?? null } };
      const plain = thinking.type === 'disabled' && Object.keys(thinking).length === 1;
      return { reasoning: { effort: 'none' }, kept: { ...unsaid, ...(!plain && { thinking }) } };
    }
  }
}

function needsVerbatim({ type: _type, budget_tokens: _budget, display, ...rest }: JsonObject): boolean {
  const isKnown = display === undefined || display === 'omitted' || display === 'summarized';
  return !isKnown || Object.keys(rest).length > 0;
}

function budgetOf(thinking: JsonObject): number {
  const budget = thinking.budget_tokens;
  if (typeof budget === 'number' && Number.isInteger(budget) && budget > 0) return budget;
  throw invalid('thinking.budget_tokens', 'must be a whole number above 0');
}

/** For which model and request the thinking is meant. */
export interface ThinkingTarget extends Reader {
  /** The output limit that is sent; thinking counts towards it. */
  maxTokens: number;
  /** The request forces a tool call, which the dialect does not allow together with thinking. */
  isToolForced: boolean;
  /** The model continues after its calls without the signed thinking that a budget would demand there. Absent: no. */
  isMidLoop?: boolean;
}

/** What a body says of thinking. */
interface SaidThinking {
  thinking?: JsonObject;
  effort?: string;
}

/**
 * `thinking` and `effort` for a server. A budget is kept between the dialect's minimum and the limit of the answer. An
 * effort alone becomes adaptive thinking, or a budget for models that know nothing else. A budget from another format
 * becomes an effort for models that know no budget. A forced tool call wins over an effort.
 */
export function encodeThinking(reasoning: Reasoning | undefined, target: ThinkingTarget): SaidThinking {
  if (reasoning === undefined) return {};
  const { effort, budgetTokens, visible } = reasoning;
  if (effort === 'none' || budgetTokens === 0) {
    const cannot = target.isForeign && alwaysThinks(target.model);
    return cannot ? { effort: effortWord.minimal } : { thinking: { type: 'disabled' } };
  }
  const word = effort && { effort: wordOf(effort, target) };
  const form = thinkingFormOf(target.model);
  // Newer models show no thinking unless asked. Clients of other formats have no word to ask for it, or expect to see
  // it.
  const isShown = visible ?? (target.isForeign && form === 'adaptive' ? true : undefined);
  const display = isShown === undefined ? {} : { display: isShown ? 'summarized' : 'omitted' };
  if (budgetTokens !== undefined && budgetTokens > 0) {
    if (target.isForeign) {
      const nearest = effort ?? effortOf(budgetTokens);
      if (form === 'adaptive') return encodeAdaptive(nearest, display, target);
      // Unlike a client of this dialect, a foreign client cannot know where a budget is refused.
      if (target.isToolForced || target.maxTokens <= leastBudget) return {};
    }
    if (target.isMidLoop) return { ...word };
    const budget = within(budgetTokens, target.maxTokens);
    return { thinking: { type: 'enabled', budget_tokens: budget, ...display }, ...word };
  }
  if (form !== 'budget') return encodeAdaptive(effort, display, target);
  if (target.isToolForced) return {};
  const budget = roomFor(budgetFor[effort ?? 'high'], target.maxTokens);
  if (budget === undefined || target.isMidLoop) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget, ...display } };
}

/** Thinking whose amount the model chooses itself, unless it has to call a tool at once. */
function encodeAdaptive(
  effort: AskingEffort | undefined,
  display: JsonObject,
  target: ThinkingTarget,
): SaidThinking {
  return {
    ...(!target.isToolForced && { thinking: { type: 'adaptive', ...display } }),
    ...(effort && { effort: wordOf(effort, target) }),
  };
}

/**
 * The effort in the model's words. If the model lacks it, a client of another format cannot know that and gets the next
 * higher.
 */
function wordOf(effort: AskingEffort, { model, isForeign }: ThinkingTarget): string {
  return effort === 'xhigh' && isForeign && !knowsXhigh(model) ? effortWord.max : effortWord[effort];
}

/**
 * Like `encodeThinking`, for a client that may have written `thinking` itself. `own` is what it wrote; null if it wrote
 * an effort alone.
 */
export function encodeOwnThinking(
  own: Json | undefined,
  reasoning: Reasoning | undefined,
  target: ThinkingTarget,
): SaidThinking {
  if (own === null) return effortAlone(reasoning);
  const asked = encodeThinking(reasoning, target);
  return isJsonObject(own) ? { ...asked, thinking: limitBudget(own, target.maxTokens) } : asked;
}

function effortAlone(reasoning: Reasoning | undefined): SaidThinking {
  const { effort } = reasoning ?? {};
  return effort === undefined || effort === 'none' ? {} : { effort: effortWord[effort] };
}

/** With the budget reduced to leave room for an answer. */
function limitBudget(thinking: JsonObject, maxTokens: number): JsonObject {
  if (typeof thinking.budget_tokens !== 'number') return thinking;
  return { ...thinking, budget_tokens: within(thinking.budget_tokens, maxTokens) };
}

/**
 * A budget that no client counted, at most half of the answer: who named no budget did not leave room for one. Absent
 * where the half is less than the dialect accepts.
 */
export function roomFor(wanted: number, maxTokens: number): number | undefined {
  const budget = Math.min(wanted, Math.floor(maxTokens / 2));
  return budget >= leastBudget ? budget : undefined;
}

function within(budget: number, maxTokens: number): number {
  return Math.max(leastBudget, Math.min(budget, maxTokens - 1));
}
