import {
  type Extensible,
  extend,
  extensionsOf,
  type FinishEvent,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { objectOf } from '../../json/json-object.ts';
import { FORMAT } from '../wire.ts';
import { addVerdicts, verdictsField } from './filter-verdicts.ts';
import { addDetails, detailsField } from './reasoning-details.ts';

/**
 * What a finish event keeps for this dialect: unknown fields of the message, of the choice and of the body, and log
 * probabilities of tokens that are no text.
 */
export interface FinishFields {
  message: JsonObject;
  choice: JsonObject;
  body: JsonObject;
  logprobs: Json[];
}

/** Reads what `fileFinishFields` filed. */
export function finishFields(finish: FinishEvent): FinishFields {
  const { message, choice, body, logprobs } = extensionsOf(finish, FORMAT) ?? {};
  return {
    message: objectOf(message),
    choice: objectOf(choice),
    body: objectOf(body),
    logprobs: Array.isArray(logprobs) ? logprobs : [],
  };
}

/** The extensions of a finish event that keeps these; without any, it has none. */
export function fileFinishFields({ message, choice, body, logprobs }: FinishFields): Extensible {
  return extend(FORMAT, {
    ...(Object.keys(message).length > 0 && { message }),
    ...(Object.keys(choice).length > 0 && { choice }),
    ...(Object.keys(body).length > 0 && { body }),
    ...(logprobs.length > 0 && { logprobs }),
  });
}

/** Adds the fields of a body that differ from the first ones: most servers repeat them all in every chunk. */
export function addToBody(body: JsonObject, first: JsonObject, fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) {
    const known = first[name];
    if (known !== value && JSON.stringify(known) !== JSON.stringify(value)) body[name] = value;
  }
}

/** A later field of a choice replaces an earlier one, but lists go on: vLLM reports the ids of each chunk's tokens. */
export function addToChoice(choice: JsonObject, fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) {
    const old = choice[name];
    if (name === verdictsField && isJsonObject(value)) choice[name] = addVerdicts(old, value);
    else if (!Array.isArray(value)) choice[name] = value;
    else if (Array.isArray(old)) for (const item of value) old.push(item);
    // A copy, because it grows in place.
    else choice[name] = [...value];
  }
}

/** Fields of a message that name something. */
const labels = new Set(['id', 'name', 'type']);

/**
 * The unknown fields of a delta without those that say nothing new: in each, MiniMax repeats its name and an empty sound,
 * and OpenRouter an empty list of thoughts. `known`: those of all deltas before it.
 */
export function newsIn(known: JsonObject, fields: JsonObject): JsonObject {
  const news = Object.entries(fields).filter(([name, value]) => !isRepeated(known[name], name, value));
  return Object.fromEntries(news);
}

function isRepeated(known: Json | undefined, name: string, value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0 && Array.isArray(known);
  if (typeof value === 'string' && !labels.has(name)) return value === '' && typeof known === 'string';
  return value === known;
}

/**
 * The dialect's rule for deltas: text and lists are appended, objects are merged, anything else is replaced. The target
 * holds copies that grow in place: the events still need the original values, and rebuilding a list for each of 10,000
 * deltas blocked everybody for 6 s.
 */
export function addToMessage(target: JsonObject, fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) {
    if (name === '__proto__') continue;
    const old = target[name];
    if (name === detailsField && Array.isArray(value)) target[name] = addDetails(old, value);
    else if (typeof old === 'string' && typeof value === 'string' && !labels.has(name))
      target[name] = old + value;
    else if (Array.isArray(old) && Array.isArray(value)) for (const item of value) old.push(item);
    else if (isJsonObject(old) && isJsonObject(value)) addToMessage(old, value);
    else target[name] = structuredClone(value);
  }
}
