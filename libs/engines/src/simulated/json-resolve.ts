import { isJsonObject, type Json, type JsonObject, SluiceError } from '@sluice/canonical';
import { listOf, SchemaJoiner, typesOf } from '../json-schema/merge.ts';
import { References } from '../json-schema/references.ts';

/** How many references and combinators may be nested before there is a value. */
const maxHops = 64;
/** How many may be followed for one instance: 25 references that each occur twice would be millions. */
const maxFollowed = 50_000;
const maxHeight = 16;

/** Chooses one branch of an `anyOf` or `oneOf`. */
export type ChooseBranch = (branches: readonly Json[]) => Json;

/** Tells what a schema says once its references and combinators are followed. */
export class SchemaResolver {
  private readonly root: Json;
  private readonly references: References;
  private readonly heights = new Map<JsonObject, number[]>();
  /** Parts by `$id` and `#$anchor`; collected when first needed. */
  private named: ReadonlyMap<string, Json> | undefined;
  private readonly joiner = new SchemaJoiner();
  private followed = 0;

  constructor(root: Json) {
    this.root = root;
    this.references = new References(root);
  }

  /** The schema as plain keywords, without `$ref`, `allOf`, `anyOf`, `oneOf` or `if`. */
  flatten(schema: Json, choose: ChooseBranch, hops = 0): JsonObject {
    this.followed += 1;
    if (this.followed > maxFollowed) throw unsatisfiable('it refers too often');
    if (hops > maxHops) throw unsatisfiable('its references lead nowhere');
    if (schema === false) throw unsatisfiable('a part of it allows nothing');
    if (!isJsonObject(schema)) return {};
    const { $ref, allOf, anyOf, oneOf, if: condition, then, else: _otherwise, not: _not, ...own } = schema;
    const parts: Json[] = [...(typeof $ref === 'string' ? [this.lookUp($ref)] : []), ...listOf(allOf)];
    for (const branches of [anyOf, oneOf]) {
      if (Array.isArray(branches) && branches.length > 0) parts.push(choose(branches));
    }
    // An instance that meets the condition needs no `else`.
    if (condition !== undefined && then !== undefined) parts.push(condition, then);
    return parts.reduce<JsonObject>(
      (merged, part) => this.join(this.flatten(part, choose, hops + 1), merged),
      own,
    );
  }

  private join(left: JsonObject, right: JsonObject): JsonObject {
    const joined = this.joiner.join(left, right);
    if (!joined) throw unsatisfiable('it has too many parts');
    return joined;
  }

  /** How many levels of nesting the smallest instance needs; more than `maxHeight` counts as infinite. */
  heightOf(schema: Json, fuel = maxHeight): number {
    if (fuel === 0) return Number.POSITIVE_INFINITY;
    if (!isJsonObject(schema)) return schema === false ? Number.POSITIVE_INFINITY : 0;
    let known = this.heights.get(schema);
    if (!known) {
      known = [];
      this.heights.set(schema, known);
    }
    const height = known[fuel] ?? this.measure(schema, fuel);
    known[fuel] = height;
    return height;
  }

  private measure(schema: JsonObject, fuel: number): number {
    const { $ref, allOf, anyOf, oneOf, properties, required, items, minItems, prefixItems } = schema;
    if (schema.const !== undefined || Array.isArray(schema.enum) || allowsNull(schema)) return 0;
    const heights = [0];
    if (typeof $ref === 'string') heights.push(this.heightOf(this.lookUp($ref), fuel - 1));
    for (const part of listOf(allOf)) heights.push(this.heightOf(part, fuel - 1));
    for (const branches of [listOf(anyOf), listOf(oneOf)]) {
      if (branches.length > 0)
        heights.push(lowest(branches.map((branch) => this.heightOf(branch, fuel - 1))));
    }
    for (const name of listOf(required)) {
      if (typeof name !== 'string' || !isJsonObject(properties) || !Object.hasOwn(properties, name)) continue;
      heights.push(1 + this.heightOf(properties[name] ?? true, fuel - 1));
    }
    if (typeof minItems === 'number' && minItems > 0) {
      for (const element of [...listOf(prefixItems), items ?? true])
        heights.push(1 + this.heightOf(element, fuel - 1));
    }
    return highest(heights);
  }

  /** Resolves a JSON pointer into the schema itself, an `$anchor` or an `$id`. Nothing is ever fetched. */
  private lookUp(reference: string): Json {
    const target = this.references.target(reference) ?? this.findNamed(reference);
    if (target === undefined) throw unsatisfiable('a reference in it has no target');
    return target;
  }

  private findNamed(reference: string): Json | undefined {
    this.named ??= addNamed(this.root, new Map());
    return this.named.get(reference);
  }
}

/** The error for a schema that no instance can satisfy, or none of bearable size. */
export function unsatisfiable(fact: string): SluiceError {
  return new SluiceError('invalid-request', `the JSON schema has no instance: ${fact}`);
}

/** Whether null is an instance, in terms of JSON Schema or of OpenAPI. */
export function allowsNull(schema: JsonObject): boolean {
  return schema.nullable === true || typesOf(schema.type).includes('null');
}

/** Unlike `Math.max` and `Math.min`, these are not limited by the number of arguments. */
function highest(heights: readonly number[]): number {
  return heights.reduce((one, other) => Math.max(one, other), 0);
}

export function lowest(heights: readonly number[]): number {
  return heights.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
}

/** If several parts have the same name, the first counts. */
function addNamed(value: Json, named: Map<string, Json>, depth = 0): Map<string, Json> {
  if (depth > maxHops || typeof value !== 'object' || value === null) return named;
  if (isJsonObject(value)) {
    const { $id, $anchor } = value;
    if (typeof $id === 'string' && !named.has($id)) named.set($id, value);
    if (typeof $anchor === 'string' && !named.has(`#${$anchor}`)) named.set(`#${$anchor}`, value);
  }
  for (const child of Object.values(value)) addNamed(child, named, depth + 1);
  return named;
}
