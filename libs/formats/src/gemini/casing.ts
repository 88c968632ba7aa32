import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Fields that hold the caller's own data: the keys inside them are names, not fields of the dialect. */
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
 * A body with every field in camelCase and without nulls. The dialect accepts `generation_config` for
 * `generationConfig` and reads null as absent, everywhere except in the caller's own data.
 */
export function normalizeFields(value: Json): Json {
  if (Array.isArray(value)) return value.map(normalizeFields);
  if (!isJsonObject(value)) return value;
  // `fromEntries` and rest patterns make a hidden class for every new set of fields, in quadratic time.
  const fields: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    // Copying such a field by assignment would change the copy's prototype.
    if (field === null || name === '__proto__') continue;
    const camel = camelCase(name);
    fields[camel] = callersOwn.has(camel) ? field : normalizeFields(field);
  }
  return fields;
}

/** `snake_case` as `snakeCase`; anything else unchanged. */
export function camelCase(name: string): string {
  return snakeCase.test(name)
    ? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : name;
}
