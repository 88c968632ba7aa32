import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { z } from 'zod';

/** A setting of the settings file as a row: path, type, default and meaning. */
export type SchemaRow = [path: string, type: string, fallback: string, meaning: string];

/** Every setting of a schema with its path below `root`. Records appear as `NAME`. */
export function schemaRows(schema: z.ZodType, root: string): SchemaRow[] {
  // A JSON Schema is JSON.
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject;
  return rowsOf(json, root, true);
}

function rowsOf(json: JsonObject, path: string, isRequired: boolean): SchemaRow[] {
  const { properties, additionalProperties } = json;
  if (isJsonObject(properties)) {
    const required = Array.isArray(json.required) ? json.required : [];
    return Object.entries(properties).flatMap(([name, child]) =>
      isJsonObject(child) ? rowsOf(child, join(path, name), required.includes(name)) : [],
    );
  }
  if (isJsonObject(additionalProperties) && isJsonObject(additionalProperties.properties)) {
    return rowsOf(additionalProperties, join(path, 'NAME'), false);
  }
  return [[`\`${path}\``, typeOf(json), fallbackOf(json, isRequired), textOf(json.description)]];
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function fallbackOf(json: JsonObject, isRequired: boolean): string {
  if (json.default !== undefined) return `\`${JSON.stringify(json.default)}\``;
  return isRequired ? 'required' : '';
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function typeOf(json: JsonObject): string {
  const { type, anyOf, minimum, maximum, additionalProperties } = json;
  if (Array.isArray(json.enum)) return json.enum.map(String).join(' | ');
  if (Array.isArray(anyOf)) {
    return [...new Set(anyOf.filter(isJsonObject).map(typeOf))].join(' or ');
  }
  if (type === 'array') return isJsonObject(json.items) ? `list of ${typeOf(json.items)}` : 'list';
  if (type === 'object') {
    return isJsonObject(additionalProperties) ? `record of ${typeOf(additionalProperties)}` : 'object';
  }
  if (type !== 'integer' && type !== 'number') {
    return typeof json.format === 'string' ? json.format : textOf(type) || 'any';
  }
  const isBound = (value: Json | undefined) =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  const least = isBound(minimum) ? ` ≥ ${String(minimum)}` : '';
  const most = isBound(maximum) ? ` ≤ ${String(maximum)}` : '';
  return `${type}${least}${most}`;
}
