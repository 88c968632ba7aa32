import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { effortNamed, effortsByStrength, nearestEffort } from '../../efforts.ts';
import { roomFor } from '../thinking/thinking.ts';

const refusesThinking =
  /\bthinking\b[\w." ]* (?:is not supported|not supported)\b|\bdoes not support thinking\b/i;
/** Names the type of thinking that is refused. */
const refusedType = /\bthinking\.type\.(\w+)"? is not supported\b|\b(adaptive) thinking is not supported\b/i;

/**
 * The body with thinking as a Claude accepts it that refused the one in it: a budget becomes adaptive thinking where
 * the refusal asks for that, and anything else is left out. Absent if the refusal is about something else, or about
 * another type of thinking.
 */
export function withKnownThinking(body: JsonObject, refusal: string): JsonObject | undefined {
  const { thinking, ...rest } = body;
  if (!refusesThinking.test(refusal) || !isJsonObject(thinking)) return undefined;
  const [, named, adaptive] = refusedType.exec(refusal) ?? [];
  const type = (named ?? adaptive)?.toLowerCase();
  if (type !== undefined && thinking.type !== type) return undefined;
  if (type !== 'enabled' || !/\badaptive\b/.test(refusal)) return rest;
  const { budget_tokens: _budget, ...shown } = thinking;
  // These models show no thinking unless asked.
  return { ...rest, thinking: { display: 'summarized', ...shown, type: 'adaptive' } };
}

/** Moonshot's refusal by a model that always thinks. */
const wantsThinking = /\bthinking: only type=enabled is allowed\b/i;

/**
 * Refusals of the only thinking that Claude's newer models know: Qwen's, and those by servers that name the types which
 * they know (NVIDIA, Moonshot, schema validators).
 */
const refusesAdaptive = new RegExp(
  [
    '\\bsupported for thinking\\W+adaptive\\W? is not supported\\b',
    '\\bthinking\\b.{0,120}\\b(?:must|should) be \\W?enabled\\W{1,3}or \\W?disabled\\b',
    "\\bthinking\\b.{0,120}\\bexpected\\b[^']{0,10}'(?:enabled|disabled)'\\W{1,5}(?:enabled|disabled)'",
    wantsThinking.source,
  ].join('|'),
  'i',
);

/** With a budget of half the answer, or without thinking if that is too little, for a server that wants budgets. */
export function withThinkingBudget(body: JsonObject, refusal: string): JsonObject | undefined {
  const { thinking, ...rest } = body;
  if (!refusesAdaptive.test(refusal) || !isJsonObject(thinking) || thinking.type !== 'adaptive')
    return undefined;
  const budget = roomFor(Number.POSITIVE_INFINITY, Number(body.max_tokens));
  return budget === undefined ? rest : { ...rest, thinking: { type: 'enabled', budget_tokens: budget } };
}

/** Without a word about thinking, for a model that always thinks and refuses to be told not to. */
export function withoutNoThinking(body: JsonObject, refusal: string): JsonObject | undefined {
  const { thinking, ...rest } = body;
  const isDeclined = isJsonObject(thinking) && thinking.type === 'disabled';
  return isDeclined && wantsThinking.test(refusal) ? rest : undefined;
}

/** The last words are Bedrock's. */
const refusesEffort =
  /\bdoes not support (?:the )?effort\b|\beffort\b[\w."' ]* is not supported\b|\boutput_config\b.*: extra inputs\b/i;
/** Names the effort that is refused. */
const refusedEffort = /\beffort(?: level)? ["'](\w+)["']/i;
const knownEfforts = /\bsupported (?:levels|values): ([^.]*)/i;

/**
 * The body with the nearest effort that a Claude names, or without one if it names none. Absent if the refusal is about
 * something else, or about another effort.
 */
export function withKnownEffort(body: JsonObject, refusal: string): JsonObject | undefined {
  const { output_config: config } = body;
  if (!refusesEffort.test(refusal) || !isJsonObject(config) || config.effort === undefined) return undefined;
  const { effort, ...rest } = config;
  const refused = refusedEffort.exec(refusal)?.[1];
  if (refused !== undefined && refused !== effort) return undefined;
  const named = new Set<string>(knownEfforts.exec(refusal)?.[1]?.match(/\w+/g));
  const known = effortsByStrength.filter((each) => named.has(each));
  const asked = effortNamed(refused);
  const nearest = asked && nearestEffort(asked, known);
  if (nearest !== undefined) return { ...body, output_config: { ...config, effort: nearest } };
  if (Object.keys(rest).length > 0) return { ...body, output_config: rest };
  const { output_config: _nothing, ...whole } = body;
  return whole;
}
