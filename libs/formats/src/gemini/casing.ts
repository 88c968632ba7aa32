import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Fields whose inside is the caller's own data: its keys are names, not fields of the dialect. */
const callersOwn: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'schema',
  'properties',
  'labels',
  'partMetadata',
  'headers',
  'customConfigs',
]);

const snakeCase = /^[a-z][a-zA-Z0-9]*(?:_[a-z0-9]+)+$/;

/**
 * A body with every field in camelCase and without nulls: the dialect allows `generation_config` for
 * `generationConfig` and reads null as absent, everywhere but in the caller's own data.
 */
export function normalizeFields(value: Json): Json {
  if (Array.isArray(value)) return value.map(normalizeFields);
  if (!isJsonObject(value)) return value;
  // Not by `fromEntries` nor a rest pattern: they make a class of every new set of fields, in quadratic time.
  const fields: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    // Whoever copied such a field by assignment would change the parent of the copy.
    if (field === null || name === '__proto__') continue;
    const camel = camelCase(name);
    fields[camel] = callersOwn.has(camel) ? field : normalizeFields(field);
  }
  return fields;
}

/** `snake_case` as `snakeCase`; anything else as it is. */
export function camelCase(name: string): string {
  return snakeCase.test(name)
    ? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : name;
}
