import { z } from 'zod';

/** The names that an object at this place of the schema may have; none if any are allowed. */
export function namesAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: unknown = unwrap(schema);
  for (const segment of path) {
    if (current instanceof z.ZodObject) current = unwrap(current.shape[String(segment)]);
    else if (current instanceof z.ZodRecord) current = unwrap(current.valueType);
    else if (current instanceof z.ZodArray) current = unwrap(current.element);
    else return [];
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

/** The names of all settings in a schema, at any depth. */
export function namesIn(schema: unknown): string[] {
  const current = unwrap(schema);
  if (current instanceof z.ZodRecord) return namesIn(current.valueType);
  if (current instanceof z.ZodArray) return namesIn(current.element);
  if (!(current instanceof z.ZodObject)) return [];
  return Object.entries(current.shape).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}

function unwrap(schema: unknown): unknown {
  let current = schema;
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodNullable ||
    current instanceof z.ZodReadonly
  ) {
    current = current.unwrap();
  }
  return current instanceof z.ZodPipe ? unwrap(current.in) : current;
}
