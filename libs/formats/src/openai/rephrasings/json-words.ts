import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { hasJsonInstruction, jsonInstruction } from '../../json-instruction.ts';
import { isSystem } from '../turn-order.ts';

/** How OpenAI and DeepSeek say that the prompt itself has to ask for JSON. */
const wantsWord = /\bcontain the word\b.{0,3}\bjson\b/i;
const isOfFormat = /\bresponse[_ ]format\b|\bjson_schema\b/i;
/** Text Generation Inference does not know the variant; Triton names those that it knows. */
const isUnavailable =
  /\bunavailable\b|\bnot support|\bunknown variant `json_schema`|\bresponse_format\.type: input should be 'text'/i;
const isBesideTools = /\btools?\b/i;
/** OpenAI's refusal of the schema of a list or another value, which clients of generate content often send. */
const wantsObject = /\bresponse_format\b.*\bmust be a json schema of 'type: "object"/i;

/**
 * LM Studio, Perplexity and Text Generation Inference take a schema, but no wish for JSON without one; OpenAI's older
 * models take neither.
 */
const refusesObject = new RegExp(
  [
    "\\bresponse_format\\b.*\\b(?:must|should) be 'json_schema'|\\bresponse_format: missing field `value`",
    "\\bresponse_format\\b.{0,20}'json_object' is not supported",
  ].join('|'),
  'i',
);

/** Qwen's refusal of JSON, with a schema or without one, while its model thinks. */
const refusesWhileThinking = /\bjson mode response is not supported\b/i;

/**
 * The body with JSON asked for in words, for a server that takes no schema, nothing but a schema, or demands the words
 * beside the setting. Absent if the refusal is about something else, or the words are there.
 */
export function withJsonWords(body: JsonObject, refusal: string): JsonObject | undefined {
  const { response_format: format, messages } = body;
  if (!isJsonObject(format) || !Array.isArray(messages)) return undefined;
  // A refusal is remembered for every later request.
  const isAboutOthers = isBesideTools.test(refusal) && body.tools === undefined;
  const isRefused = isOfFormat.test(refusal) && isUnavailable.test(refusal) && !isAboutOthers;
  if (refusesWhileThinking.test(refusal)) return withoutFormat(body, messages);
  if (format.type === 'json_schema') {
    const known = schemaOf(format);
    const { type = 'object' } = known ?? {};
    const isMisplaced = known?.type !== 'object' && wantsObject.test(refusal);
    if (!isRefused && !isMisplaced) return undefined;
    const { response_format: _format, ...rest } = body;
    return {
      ...rest,
      // The setting without a schema asks for an object. A schema that names no type is nearly always one of objects.
      ...(type === 'object' && { response_format: { type: 'json_object' } }),
      messages: instructed(messages, jsonInstruction(known)),
    };
  }
  if (format.type !== 'json_object') return undefined;
  if (refusesObject.test(refusal) && !isAboutOthers) return withoutFormat(body, messages);
  if (!wantsWord.test(refusal) || isSaid(messages)) return undefined;
  return { ...body, messages: instructed(messages, jsonInstruction(undefined)) };
}

function schemaOf({ json_schema: named }: JsonObject): JsonObject | undefined {
  const schema = isJsonObject(named) ? named.schema : undefined;
  return isJsonObject(schema) ? schema : undefined;
}

function withoutFormat(
  { response_format: format, ...rest }: JsonObject,
  messages: readonly Json[],
): JsonObject | undefined {
  const isJson = isJsonObject(format) && (format.type === 'json_schema' || format.type === 'json_object');
  if (!isJson) return undefined;
  // A schema that was refused before is in words already.
  if (format.type === 'json_object' && isSaid(messages)) return rest;
  return { ...rest, messages: instructed(messages, jsonInstruction(schemaOf(format))) };
}

/** Whether the words are there, perhaps within a turn of the user: not every template knows system messages. */
function isSaid(messages: readonly Json[]): boolean {
  return messages.some(
    (message) =>
      isJsonObject(message) && typeof message.content === 'string' && hasJsonInstruction(message.content),
  );
}

/** With one more instruction after those at the head. */
function instructed(messages: readonly Json[], instruction: string): Json[] {
  const found = messages.findIndex((message) => !isSystem(message));
  const head = found === -1 ? messages.length : found;
  const added = { role: 'system', content: instruction };
  return [...messages.slice(0, head), added, ...messages.slice(head)];
}
