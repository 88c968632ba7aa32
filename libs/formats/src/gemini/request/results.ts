import { extend, type FormatId, isJsonObject, type JsonObject, type ToolResultPart } from '@sluice/canonical';
import { bareCallId } from '../../calls/call-luggage.ts';
import { parseObject } from '../../json/json-object.ts';
import { keptBeside } from '../../json/kept-fields.ts';
import { FORMAT, keptOn, nestedIn, noteForeign, withInner } from '../kept.ts';
import { acceptedMedia, decodePart, encodePart } from '../parts.ts';
import { invalidField, parsePart, type WirePart } from '../wire.ts';
import type { CallLedger } from './calls.ts';

/** Marks a result whose text is the whole `response` object as JSON, so that it is encoded as an object again. */
const wholeResponse = 'wholeResponse';

/**
 * Decodes a `functionResponse` part. `{output: text}` and `{error: text}` become the text; any other object becomes its
 * JSON text. The result is an error if it has an `error` and no `output`.
 */
export function decodeResult(part: WirePart, calls: CallLedger, path: string): ToolResultPart {
  const { functionResponse = {} } = part;
  const { id, name, response, parts } = functionResponse;
  if (!id && !name) throw invalidField(`${path}.functionResponse.name`, 'expected a name or an id of a call');
  const call = calls.answer(id && bareCallId(id), name);
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
    ...(object && saysFailed(object) && { isError: true }),
    content: [...(object ? [{ type: 'text' as const, text: said ?? JSON.stringify(object) }] : []), ...media],
    ...extend(FORMAT, object && said === undefined ? Object.assign(kept, { [wholeResponse]: true }) : kept),
  };
}

/** The fields of a part and of a result that are read by name. */
const partFields = new Set(['functionResponse']);
const resultFields = new Set(['id', 'name', 'response', 'parts']);

/** Tools that always return the same fields have an empty `error` where nothing failed. */
function saysFailed(response: JsonObject): boolean {
  return !('output' in response) && (response.error ?? false) !== false;
}

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

/** Encodes a result for an upstream, which needs the function's name: `nameOf` gives it by the call's id. */
export function encodeResult(
  result: ToolResultPart,
  nameOf: ReadonlyMap<string, string>,
  path: string,
  dropped: FormatId[],
): JsonObject {
  noteForeign(result, dropped);
  const name = result.toolName ?? nameOf.get(result.toolCallId);
  if (name === undefined) {
    const fact = 'no call of the conversation has the id of this result, and the result names no function';
    throw invalidField(`${path}.toolName`, fact);
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

/** Before the third generation, models accept no media inside of a result; it is put after the result instead. */
const takesNoMedia = /gemini-[12](?:\D|$)/;

/**
 * A result of a client of another format, in the form that the model accepts: always with a response, even an empty
 * one.
 */
export function asModelsTake(part: JsonObject, model: string): JsonObject[] {
  const { functionResponse, ...beside } = part;
  if (!isJsonObject(functionResponse)) return [part];
  const { parts: named, response = { output: '' }, ...result } = functionResponse;
  const parts = Array.isArray(named) ? named.filter(isJsonObject).map(acceptedMedia) : undefined;
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
  const whole = isWhole ? parseObject(first) : undefined;
  return whole ?? { [isError ? 'error' : 'output']: texts.join('\n') };
}
