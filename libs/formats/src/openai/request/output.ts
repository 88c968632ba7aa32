import type { JsonObject, OutputFormat } from '@sluice/canonical';
import { jsonObjectFormat, jsonSchemaFormat, parseWire } from '../wire.ts';

/**
 * The form of the answer that the client wants; absent for one that only some servers of this dialect know (a grammar).
 */
export function decodeOutput(wire: Record<string, unknown> & { type: string }): OutputFormat | undefined {
  const path = 'response_format';
  if (wire.type === 'text') return { type: 'text' };
  if (wire.type === 'json_object') {
    const { schema } = parseWire(jsonObjectFormat, wire, path);
    return { type: 'json', ...(schema != null && { schema }) };
  }
  if (wire.type !== 'json_schema') return undefined;
  const { name, schema, description, strict } = parseWire(jsonSchemaFormat, wire, path).json_schema;
  return {
    type: 'json',
    ...(schema != null && { schema }),
    ...(name != null && { name }),
    ...(description != null && { description }),
    ...(strict != null && { strict }),
  };
}

/** The form of the answer for a server. The dialect demands a name for a schema. */
export function encodeOutput(output: OutputFormat): JsonObject {
  if (output.type === 'text') return { type: 'text' };
  const { schema, name, description, strict } = output;
  if (schema === undefined && name === undefined) return { type: 'json_object' };
  const body: JsonObject = {
    name: name ?? 'response',
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(strict !== undefined && { strict }),
  };
  return { type: 'json_schema', json_schema: body };
}
