import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { z } from 'zod';

/**
 * A schema as JSON Schema for documentation. `side`: what a caller writes (`input`), or what is left after the
 * schema has read it, for schemas that first bring a value into shape (`output`).
 */
export function describeSchema(schema: z.ZodType, side: 'input' | 'output' = 'input'): JsonObject {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: side, unrepresentable: 'any' });
  // A JSON Schema is JSON; the conversion leaves methods of its own on it that JSON does not hold.
  return withoutBounds(JSON.parse(JSON.stringify(json)));
}

/** Without the bounds that only say that JavaScript counts exactly up to there. */
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
