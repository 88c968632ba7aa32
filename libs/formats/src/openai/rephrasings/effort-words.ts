import type { JsonObject, ReasoningEffort } from '@sluice/canonical';
import { effortNamed, effortsByStrength, nearestEffort } from '../../efforts.ts';

const anyEffort = effortsByStrength.join('|');
const word = `["'\`]?\\b(?:${anyEffort}|default)\\b["'\`]?`;
/** Two or more efforts in a row: those that a server accepts. */
const lists = new RegExp(`${word}(?:(?:\\s*,\\s*(?:or |and )?|\\s+(?:or|and)\\s+)${word})+`, 'g');
const words = new RegExp(`\\b(?:${anyEffort})\\b`, 'g');
const quoted = new RegExp(`["'\`](${anyEffort})["'\`]`, 'g');

/**
 * Whether a refusal is about an effort. Ollama does not name the parameter when it refuses an unknown effort, an effort
 * for a model that takes none, or any thinking.
 */
const isOfEffort = /reasoning_?effort|invalid reasoning value|\bthink value\b|does not support thinking/i;

/**
 * The body with an effort that suits a server which refused the one in it: the nearest that the refusal names, or no
 * effort at all. Some servers call functions only if they are told not to reason. Absent if the refusal is about
 * something else.
 */
export function withKnownEffort(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!isOfEffort.test(refusal)) return undefined;
  const { reasoning_effort: wanted, ...rest } = body;
  if (/\btools\b/i.test(refusal)) {
    return body.tools === undefined || wanted === 'none' ? undefined : { ...body, reasoning_effort: 'none' };
  }
  const asked = effortNamed(wanted);
  if (asked === undefined) return undefined;
  const taken = namedIn(refusal);
  if (taken.length === 0) return speaksOf(refusal, asked) ? rest : undefined;
  if (taken.includes(asked)) return undefined;
  // No thinking at all is no substitute for some thinking.
  const similar = taken.filter((effort) => effort !== 'none');
  const nearest = nearestEffort(asked, similar);
  return nearest === undefined ? rest : { ...rest, reasoning_effort: nearest };
}

/** The efforts of the longest list in a refusal, by strength. */
function namedIn(refusal: string): ReasoningEffort[] {
  const longest = [...refusal.matchAll(lists)].map(([list]) => list).sort((a, b) => b.length - a.length)[0];
  const named = new Set<string>(longest?.match(words) ?? []);
  return effortsByStrength.filter((effort) => named.has(effort));
}

/** Whether a refusal without a list is about this effort or about efforts in general. */
function speaksOf(refusal: string, effort: ReasoningEffort): boolean {
  const named = [...refusal.matchAll(quoted)].map(([, name]) => name);
  return named.length === 0 || named.some((name) => name === effort);
}
