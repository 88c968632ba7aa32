import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Where Azure says, by category, what its filter found in the text of a choice. */
export const verdictsField = 'content_filter_results';

const severities = ['safe', 'low', 'medium', 'high'];

/**
 * The verdicts on the answer so far and on one more chunk. Each chunk has those on its own text, and the last one, which
 * has no text, has none: the worst of each category is that on the whole, as in a single body.
 */
export function addVerdicts(known: Json | undefined, verdicts: JsonObject): JsonObject {
  const joined = isJsonObject(known) ? { ...known } : {};
  for (const [category, verdict] of Object.entries(verdicts)) {
    if (category === '__proto__') continue;
    if (weightOf(verdict) >= weightOf(joined[category])) joined[category] = verdict;
  }
  return joined;
}

function weightOf(verdict: Json | undefined): number {
  if (!isJsonObject(verdict)) return 0;
  const { filtered, detected, severity } = verdict;
  const found = Number(filtered === true) * 2 + Number(detected === true);
  return found * severities.length + Math.max(0, severities.indexOf(String(severity)));
}
