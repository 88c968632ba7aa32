import { type InferenceRequest, isJsonObject, type JsonObject, type OutputFormat } from '@sluice/canonical';
import { keptFields } from '../../json/kept-fields.ts';
import { jsonInstruction } from '../../json-instruction.ts';
import type { Reader } from '../../reader.ts';
import { invalidField } from '../wire.ts';
import { decodeSchema, spellsOrder } from './schema.ts';

/** All that a `generationConfig` says about the form of the answer. */
export interface WireOutput {
  responseMimeType: string | undefined;
  responseSchema: JsonObject | undefined;
  responseJsonSchema: JsonObject | undefined;
  /** The newer alternative to the three others: a list with an element for each kind of output. */
  responseFormat: unknown;
}

/** The form of the answer that the client wants. `kept` is what only this format understands of it. */
export function decodeOutput(wire: WireOutput): { format?: OutputFormat; kept: JsonObject } {
  const { responseFormat, ...older } = wire;
  const { responseMimeType, responseSchema, responseJsonSchema } = older;
  if (responseSchema && responseJsonSchema) {
    throw invalidField(
      'generationConfig.responseJsonSchema',
      'only one of responseSchema and responseJsonSchema',
    );
  }
  const schema = responseSchema ?? responseJsonSchema;
  // If both ways are used, the older one counts; it is for the server to complain.
  if (responseMimeType === undefined && !schema) return { ...decodeTextFormat(responseFormat), kept: {} };
  const format = formatOf(responseMimeType, schema);
  if (!format) return { kept: keptFields({ ...older }) };
  const isOrdered = format.type === 'json' && responseSchema && spellsOrder(responseSchema);
  return { format, kept: isOrdered ? { responseSchema } : {} };
}

/** Reads the element for text. If there is none, the form of the text stays open. */
function decodeTextFormat(responseFormat: unknown): { format?: OutputFormat } {
  const elements: unknown[] = Array.isArray(responseFormat) ? responseFormat : [responseFormat];
  const text = elements.filter(isJsonObject).find((element) => isJsonObject(element.text))?.text;
  if (!isJsonObject(text)) return {};
  const { mimeType, schema } = text;
  const format = formatOf(
    typeof mimeType === 'string' ? mimeType.replace('_', '/') : undefined,
    isJsonObject(schema) ? schema : undefined,
  );
  return format ? { format } : {};
}

/** Absent for what only this format can express (`text/x.enum`). Plain text without a schema is free text. */
function formatOf(mimeType: string | undefined, schema: JsonObject | undefined): OutputFormat | undefined {
  const mediaType = mimeType?.toLowerCase() ?? (schema ? 'application/json' : undefined);
  if (mediaType === 'application/json') {
    return { type: 'json', ...(schema && { schema: decodeSchema(schema) }) };
  }
  return mediaType === 'text/plain' && !schema ? { type: 'text' } : undefined;
}

/** Before the third generation, models refuse JSON output together with tools. */
const takesNoJsonWithTools = /gemini-[12](?:\D|$)/;

/**
 * Text that asks such a model for JSON in place of the setting, for a client that cannot know of the restriction.
 * Absent if the setting is used.
 */
export function outputInstruction(
  { output, tools = [] }: Pick<InferenceRequest, 'output' | 'tools'>,
  { model, isForeign }: Reader,
): string | undefined {
  const isRefused = isForeign && tools.length > 0 && takesNoJsonWithTools.test(model);
  if (output?.type !== 'json' || !isRefused) return undefined;
  return jsonInWords(output.schema, true);
}

/** Words that ask for JSON of this schema, or for any JSON object, where the setting is refused. */
export function jsonInWords(schema: JsonObject | undefined, hasTools: boolean): string {
  return (hasTools ? 'Once no tool has to be called: ' : '') + jsonInstruction(schema);
}

/** The form of the answer for an upstream. Empty if `responseFormat`, which is kept as it came, already says it. */
export function encodeOutput(output: OutputFormat | undefined, kept: JsonObject): JsonObject {
  if (!output) return {};
  const { format: said } = decodeTextFormat(kept.responseFormat);
  if (said && JSON.stringify(said) === JSON.stringify(output)) return {};
  if (output.type === 'text') return { responseMimeType: 'text/plain' };
  const schema = output.schema && !('responseSchema' in kept) && { responseJsonSchema: output.schema };
  return { responseMimeType: 'application/json', ...schema };
}
