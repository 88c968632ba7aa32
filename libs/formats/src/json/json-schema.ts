import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { z } from 'zod';

/**
 * A schema as JSON Schema for documentation. `side`: what a caller writes (`input`), or what remains after parsing
 * (`output`), for schemas that first bring a value into shape.
 */
export function describeSchema(schema: z.ZodType, side: 'input' | 'output' = 'input'): JsonObject {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: side, unrepresentable: 'any' });
  // Plain JSON: the conversion leaves methods on the schema that JSON cannot hold.
  return withoutBounds(JSON.parse(JSON.stringify(json)));
}

/** Removes bounds that only say up to where JavaScript counts exactly. */
function withoutBounds(json: JsonObject): JsonObject {
  const fields = Object.entries(json).filter(
    ([, field]) => Math.abs(Number(field)) !== Number.MAX_SAFE_INTEGER,
  );
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutBoundsWithin(field)]));
}

function withoutBoundsWithin(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutBoundsWithin);
  return isJsonObject(value) ? withoutBounds(value) : value;
}
