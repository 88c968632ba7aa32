/** Fields with others laid over them: objects field by field, all else as a whole. */
export function overlayFields(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = isFields(below) && isFields(value) ? overlayFields(below, value) : value;
  }
  return result;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
