import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { listOf, typesOf } from '../json-schema/merge.ts';
import { Effort } from './effort.ts';
import { generateNumber } from './json-number.ts';
import { allowsNull, lowest, SchemaResolver, unsatisfiable } from './json-resolve.ts';
import { generateString } from './json-string.ts';
import { samplePattern } from './pattern.ts';
import { Random } from './random.ts';

/** From this depth on, only what is required is generated, in the shortest way. */
const leafDepth = 3;
const maxDepth = 64;
const maxNodes = 10_000;
const uniqueAttempts = 50;
/** In characters. */
const costOfNode = 20;

/**
 * A value that the JSON Schema allows; the same for the same seed. Follows the keywords that say what a value *is*, and
 * ignores those that only forbid (`not`, `propertyNames`, `dependentSchemas`). Throws `invalid-request` if there is no
 * finite instance, or none of bearable size. Several instances for one request share their `effort`.
 */
export function generateInstance(schema: Json, seed: number, effort = new Effort()): Json {
  return new InstanceGenerator(schema, seed, effort).value(schema, 0);
}

class InstanceGenerator {
  private readonly resolver: SchemaResolver;
  private readonly random: Random;
  private readonly effort: Effort;
  private nodes = 0;

  constructor(root: Json, seed: number, effort: Effort) {
    this.effort = effort;
    this.resolver = new SchemaResolver(root);
    this.random = new Random(seed);
  }

  value(schema: Json, depth: number): Json {
    this.nodes += 1;
    if (this.nodes > maxNodes) throw unsatisfiable('every one is too large');
    this.effort.spend(costOfNode);
    if (depth > maxDepth) throw unsatisfiable('every one is nested too deep');
    const flat = this.resolver.flatten(schema, (branches) => this.branch(branches, depth));
    if (flat.const !== undefined) return this.literal(flat.const);
    if (Array.isArray(flat.enum)) return this.literal(this.choice(flat.enum, flat));
    if (depth >= leafDepth && allowsNull(flat)) return null;
    switch (this.typeOf(flat)) {
      case 'object':
        return this.object(flat, depth);
      case 'array':
        return this.array(flat, depth);
      case 'string':
        return generateString(flat, this.random, this.effort);
      case 'integer':
        return generateNumber(flat, true, this.random);
      case 'number':
        return generateNumber(flat, false, this.random);
      case 'boolean':
        return this.random.fraction() < 0.5;
      case 'null':
        return null;
      default:
        throw unsatisfiable('no type is left for a part of it');
    }
  }

  private literal(value: Json): Json {
    this.effort.spend(JSON.stringify(value).length);
    return value;
  }

  private branch(branches: readonly Json[], depth: number): Json {
    this.effort.spend(branches.length);
    const heights = branches.map((branch) => this.resolver.heightOf(branch));
    const least = lowest(heights);
    const possible = branches.filter((_branch, index) => {
      const height = heights[index] ?? 0;
      return depth >= leafDepth ? height === least : Number.isFinite(height);
    });
    // A null branch is the least useful for a caller to see.
    const telling = possible.filter((branch) => !isJsonObject(branch) || branch.type !== 'null');
    const chosen = depth >= leafDepth ? possible[0] : (this.random.pick(telling) ?? possible[0]);
    if (chosen === undefined) throw unsatisfiable('it only contains itself');
    return chosen;
  }

  private choice(values: readonly Json[], schema: JsonObject): Json {
    this.effort.spend(values.length);
    const types = typesOf(schema.type);
    const possible = values.filter(
      (value) => types.length === 0 || types.some((type) => isOfType(value, type)),
    );
    const telling = possible.filter((value) => value !== null);
    const chosen = this.random.pick(telling) ?? possible[0];
    if (chosen === undefined) throw unsatisfiable('an enumeration in it is empty');
    return chosen;
  }

  private typeOf(schema: JsonObject): string | undefined {
    if (schema.type === undefined) return impliedType(schema);
    const types = typesOf(schema.type);
    return this.random.pick(types.filter((type) => type !== 'null')) ?? types[0];
  }

  private object(schema: JsonObject, depth: number): JsonObject {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const additional = schema.additionalProperties ?? true;
    const entries: [string, Json][] = [];
    for (const name of this.propertyNames(schema, properties, depth)) {
      this.effort.spend(name.length);
      const property = Object.hasOwn(properties, name) ? (properties[name] ?? true) : additional;
      entries.push([name, this.value(property, depth + 1)]);
    }
    const least = typeof schema.minProperties === 'number' ? schema.minProperties : 0;
    const taken = new Set(entries.map(([name]) => name));
    const [pattern, patternSchema] = this.patternProperty(schema);
    for (let extra = 1; entries.length < least; extra += 1) {
      if (extra > maxNodes || (pattern === undefined && additional === false))
        throw unsatisfiable('too few properties');
      const name =
        pattern === undefined
          ? `property${extra}`
          : (samplePattern(pattern, this.random, { effort: this.effort }) ?? `property${extra}`);
      if (taken.has(name)) continue;
      taken.add(name);
      entries.push([name, this.value(patternSchema ?? additional, depth + 1)]);
    }
    // Built from entries, because a property may be called __proto__.
    return Object.fromEntries(entries);
  }

  private patternProperty(schema: JsonObject): [pattern?: string, schema?: Json] {
    return isJsonObject(schema.patternProperties) ? (Object.entries(schema.patternProperties)[0] ?? []) : [];
  }

  /** In the order in which the schema declares them, followed by those that are only required. */
  private propertyNames(schema: JsonObject, properties: JsonObject, depth: number): string[] {
    const wanted = new Set(listOf(schema.required).filter((name) => typeof name === 'string'));
    const declaredNames = Object.keys(properties);
    this.effort.spend(wanted.size + declaredNames.length);
    const optional = declaredNames.filter((name) => !wanted.has(name));
    const most = typeof schema.maxProperties === 'number' ? schema.maxProperties : Number.POSITIVE_INFINITY;
    const least = typeof schema.minProperties === 'number' ? schema.minProperties : 0;
    for (const name of optional) {
      const isWanted = wanted.size < least || (depth < leafDepth && this.random.fraction() < 0.75);
      if (isWanted && wanted.size < most && Number.isFinite(this.resolver.heightOf(properties[name] ?? true)))
        wanted.add(name);
    }
    const dependent = isJsonObject(schema.dependentRequired) ? schema.dependentRequired : {};
    // Iterating a set also visits what is added meanwhile, so chains of dependencies are followed.
    for (const name of wanted) {
      const needs = Object.hasOwn(dependent, name) ? listOf(dependent[name]) : [];
      for (const need of needs) if (typeof need === 'string') wanted.add(need);
    }
    const declared = declaredNames.filter((name) => wanted.has(name));
    return [...declared, ...[...wanted].filter((name) => !Object.hasOwn(properties, name))];
  }

  private array(schema: JsonObject, depth: number): Json[] {
    const isTuple = Array.isArray(schema.items);
    const prefix = isTuple ? listOf(schema.items) : listOf(schema.prefixItems);
    const rest = (isTuple ? schema.additionalItems : schema.items) ?? true;
    const contained = schema.contains === undefined ? 0 : numberOr(schema.minContains, 1);
    const least = Math.max(numberOr(schema.minItems, 0), prefix.length === 0 ? contained : 0);
    const most = Math.min(
      numberOr(schema.maxItems, Number.POSITIVE_INFINITY),
      rest === false ? prefix.length : Number.POSITIVE_INFINITY,
    );
    const usual = depth >= leafDepth ? least : Math.max(least, prefix.length, this.random.integer(1, 3));
    const length = Number.isFinite(this.resolver.heightOf(rest))
      ? Math.min(most, usual)
      : Math.min(most, Math.max(least, prefix.length));
    const values: Json[] = [];
    const seen = new Set<string>();
    for (let attempt = 0; values.length < length; attempt += 1) {
      const element = prefix[values.length] ?? rest;
      const wanted =
        values.length < contained && schema.contains !== undefined
          ? { allOf: [element, schema.contains] }
          : element;
      const value = this.value(wanted, depth + 1);
      const text = JSON.stringify(value);
      if (schema.uniqueItems !== true || !seen.has(text)) values.push(value);
      else if (attempt > length + uniqueAttempts) break;
      seen.add(text);
    }
    if (values.length < least) throw unsatisfiable('too few different items');
    return values;
  }
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  return type === 'null' ? value === null : typeof value === type;
}

const implied: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    'object',
    ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties'],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'contains', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** The type that the keywords of a schema without `type` imply; string if they imply none. */
function impliedType(schema: JsonObject): string {
  const found = implied.find(([, keywords]) => keywords.some((keyword) => schema[keyword] !== undefined));
  return found?.[0] ?? 'string';
}
