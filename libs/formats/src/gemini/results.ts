import {
  extend,
  type FormatId,
  isJsonObject,
  type Json,
  type JsonObject,
  SluiceError,
  type ToolResultPart,
} from '@sluice/canonical';
import type { CallLedger } from './calls.ts';
import { FORMAT, keptBeside, keptOn, nestedIn, noteForeign, withInner } from './kept.ts';
import { decodePart, encodePart, withoutName } from './parts.ts';
import { invalidField, parsePart, type WirePart } from './wire.ts';

/** Marks a result whose text is the whole `response` object as JSON, so that it is said as an object again. */
const wholeResponse = 'wholeResponse';

/**
 * A `functionResponse` part. `{output: text}` and `{error: text}` are text; any other object is its JSON text.
 * It is an error when it has an `error` and no `output`.
 */
export function decodeResult(part: WirePart, calls: CallLedger, path: string): ToolResultPart {
  const { functionResponse = {} } = part;
  const { id, name, response, parts } = functionResponse;
  if (!id && !name) throw invalidField(`${path}.functionResponse.name`, 'expected a name or an id of a call');
  const call = calls.answer(id, name);
  const object = response === undefined || isJsonObject(response) ? response : { output: response };
  const said = plainText(object);
  const media = (parts ?? []).map((nestedPart, index) =>
    decodeResultPart(nestedPart, `${path}.functionResponse.parts[${index}]`),
  );
  const inner = keptBeside(functionResponse, resultFields);
  const kept = withInner(keptBeside(part, partFields), 'functionResponse', inner);
  return {
    type: 'tool-result',
    toolCallId: call.id,
    ...(call.name && { toolName: call.name }),
    ...(object && 'error' in object && !('output' in object) && { isError: true }),
    content: [...(object ? [{ type: 'text' as const, text: said ?? JSON.stringify(object) }] : []), ...media],
    ...extend(FORMAT, object && said === undefined ? Object.assign(kept, { [wholeResponse]: true }) : kept),
  };
}

/** The fields of a part and of a result that are read by name. */
const partFields = new Set(['functionResponse']);
const resultFields = new Set(['id', 'name', 'response', 'parts']);

function plainText(response: JsonObject | undefined): string | undefined {
  const [entry, ...others] = Object.entries(response ?? {});
  if (!entry || others.length > 0) return undefined;
  const [name, value] = entry;
  return (name === 'output' || name === 'error') && typeof value === 'string' ? value : undefined;
}

function decodeResultPart(value: JsonObject, path: string): ToolResultPart['content'][number] {
  const decoded = decodePart(parsePart(value, path), path);
  return decoded.type === 'reasoning' ? { ...decoded, type: 'text' } : decoded;
}

/** Of an id in the text of a refusal, characters. */
const longestId = 64;

/** A result for an upstream, which must have the name of its function: `nameOf` finds it by the call's id. */
export function encodeResult(
  result: ToolResultPart,
  nameOf: ReadonlyMap<string, string>,
  path: string,
  dropped: FormatId[],
): JsonObject {
  noteForeign(result, dropped);
  const name = result.toolName ?? nameOf.get(result.toolCallId);
  if (name === undefined) {
    const id = result.toolCallId.slice(0, longestId);
    const fact = `no call of the conversation has the id ${id}, and the result names no function`;
    throw new SluiceError('invalid-request', `${path}.toolName: ${fact}`, { param: `${path}.toolName` });
  }
  const texts: string[] = [];
  const parts: JsonObject[] = [];
  for (const [index, part] of result.content.entries()) {
    const encoded = encodePart(part, `${path}.content[${index}]`, dropped);
    if (part.type === 'text') texts.push(part.text);
    else parts.push(encoded);
  }
  const { functionResponse: _inner, [wholeResponse]: isWhole, ...beside } = keptOn(result);
  const response = encodeResponse(texts, result.isError === true, isWhole === true);
  return {
    functionResponse: {
      id: result.toolCallId,
      name,
      ...(response && { response }),
      ...(parts.length > 0 && { parts }),
      ...nestedIn(keptOn(result), 'functionResponse'),
    },
    ...beside,
  };
}

/** Before their third generation models take no media in a result: there it stands beside the result, after it. */
const takesNoMedia = /gemini-[12](?:\D|$)/;

/** A result as a model takes it whose client can't know how: always with a response, be it empty. */
export function asModelsTake(part: JsonObject, model: string): JsonObject[] {
  const { functionResponse, ...beside } = part;
  if (!isJsonObject(functionResponse)) return [part];
  const { parts: named, response = { output: '' }, ...result } = functionResponse;
  const parts = Array.isArray(named) ? named.filter(isJsonObject).map(withoutName) : undefined;
  if (!parts || !takesNoMedia.test(model)) {
    return [{ functionResponse: { ...result, response, ...(parts && { parts }) }, ...beside }];
  }
  return [{ functionResponse: { ...result, response }, ...beside }, ...parts];
}

function encodeResponse(
  texts: readonly string[],
  isError: boolean,
  isWhole: boolean,
): JsonObject | undefined {
  const [first] = texts;
  if (first === undefined) return isError ? { error: '' } : undefined;
  if (isWhole) {
    const object = parseJson(first);
    if (isJsonObject(object)) return object;
  }
  return { [isError ? 'error' : 'output']: texts.join('\n') };
}

function parseJson(text: string): Json | undefined {
  try {
    // What JSON.parse returns is JSON.
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
