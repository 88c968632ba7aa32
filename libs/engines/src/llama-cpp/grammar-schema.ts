import { isJsonObject, type Json, type JsonObject, SluiceError } from '@sluice/canonical';
import { listOf, SchemaJoiner, typesOf } from '../json-schema/merge.ts';
import { References } from '../json-schema/references.ts';
import { anything, definitionPrefix, GrammarReader } from './grammar-reader.ts';
import type { GrammarObject, GrammarSchema } from './library.ts';

/** Grammars with longer repetitions are slow: no longer minimum is demanded, and no longer maximum enforced. */
const maxRepetition = 256;
const maxDepth = 32;
/**
 * The most schemas and listed values of one schema; anything beyond is left unconstrained. A hundred thousand would
 * take minutes.
 */
const maxNodes = 2_000;
/** The same for all tools of a request together. */
const maxNodesOfAll = 20_000;

const nothing: GrammarSchema = { type: 'null' };
const stringFormats: ReadonlySet<string> = new Set(['date-time', 'time', 'date']);
const knownTypes = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];
const constraints = ['type', 'properties', 'items', 'enum', 'const', 'allOf', 'anyOf', 'oneOf'];
const definition = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** What to generate for a JSON Schema, and how to read what was generated. */
export interface GrammarPlan {
  schema: GrammarSchema;
  /** The value without the nulls that stand for properties which the model left out. */
  read(generated: Json): Json;
}

/** What may be spent on all schemas of one request. */
export class Effort {
  readonly joiner = new SchemaJoiner();
  private nodes = maxNodesOfAll;

  get nodesOfNext(): number {
    return Math.min(this.nodes, maxNodes);
  }

  spend(nodes: number): void {
    this.nodes = Math.max(0, this.nodes - nodes);
  }
}

/**
 * A schema as the library's grammars express it. They enforce types, properties, elements, alternatives, references,
 * constants and lengths, but not keywords that only narrow a value (`pattern`, `minimum`, `not` …). A grammar generates
 * every property that it names. With `maySkip`, an optional property may be null there, and `read` removes it. Throws
 * `invalid-request` for a word that no grammar can hold.
 */
export function planGrammar(schema: Json, maySkip: boolean, effort = new Effort()): GrammarPlan {
  const planner = new Planner(schema, maySkip, effort);
  const converted = planner.convertRoot();
  const reader = new GrammarReader(planner.definitions, planner.optional);
  return { schema: converted, read: (generated) => reader.read(generated, converted) };
}

class Planner {
  private readonly root: Json;
  private readonly references: References;
  readonly definitions = new Map<string, GrammarSchema>();
  /** For each object, the properties that may be absent, with their schemas when they are present. */
  readonly optional = new Map<GrammarSchema, ReadonlyMap<string, GrammarSchema>>();
  private readonly maySkip: boolean;
  private readonly effort: Effort;
  private readonly mostNodes: number;
  private nodes = 0;

  constructor(root: Json, maySkip: boolean, effort: Effort) {
    this.root = root;
    this.references = new References(root);
    this.maySkip = maySkip;
    this.effort = effort;
    this.mostNodes = effort.nodesOfNext;
  }

  convertRoot(): GrammarSchema {
    const converted = this.convert(this.root, 0);
    this.effort.spend(this.nodes);
    if (this.definitions.size === 0) return converted;
    for (const name of this.definitions.keys()) {
      if (this.isCircular(name)) this.definitions.set(name, anything);
    }
    return this.extend(converted, { $defs: Object.fromEntries(this.definitions) });
  }

  /** Converts a schema, with its description. */
  private convert(schema: Json, depth: number): GrammarSchema {
    return this.describe(this.convertRules(schema, depth), schema);
  }

  private describe(converted: GrammarSchema, schema: Json): GrammarSchema {
    const description = isJsonObject(schema) ? schema.description : undefined;
    return typeof description === 'string' ? this.extend(converted, { description }) : converted;
  }

  private extend(converted: GrammarSchema, more: object): GrammarSchema {
    const extended = { ...converted, ...more };
    const optional = this.optional.get(converted);
    if (optional) this.optional.set(extended, optional);
    return extended;
  }

  private convertRules(schema: Json, depth: number): GrammarSchema {
    this.nodes += 1;
    if (schema === false) return nothing;
    if (!isJsonObject(schema) || depth > maxDepth || this.nodes > this.mostNodes) return anything;
    const { $ref, ...rest } = schema;
    if (typeof $ref === 'string') {
      const name = definition.exec($ref)?.[1];
      if (name !== undefined && !constraints.some((keyword) => keyword in rest))
        return this.refer(name, $ref, depth);
      return this.convert({ ...rest, allOf: [this.lookUp($ref), ...listOf(rest.allOf)] }, depth + 1);
    }
    const { allOf, ...joined } = rest;
    if (Array.isArray(allOf)) return this.convert(this.joinAll(joined, allOf), depth + 1);
    const { anyOf, oneOf, ...own } = joined;
    const branches = [...listOf(oneOf), ...listOf(anyOf)];
    if (branches.length === 0) return this.convertPlain(own, depth);
    if (this.areTooMany(branches)) return anything;
    return choice(
      branches.map((branch) =>
        this.convert(isJsonObject(branch) ? this.join(own, branch) : branch, depth + 1),
      ),
    );
  }

  private areTooMany(parts: readonly unknown[]): boolean {
    return this.nodes + parts.length > this.mostNodes;
  }

  /** Unconstrained if there is too much to join. */
  private join(left: JsonObject, right: JsonObject): JsonObject {
    return this.effort.joiner.join(left, right) ?? {};
  }

  private joinAll(schema: JsonObject, parts: readonly Json[]): JsonObject {
    const known = parts.map((part) =>
      parts.length > 1 && isJsonObject(part) && typeof part.$ref === 'string' ? this.lookUp(part.$ref) : part,
    );
    return known.filter(isJsonObject).reduce((all, part) => this.join(all, part), schema);
  }

  /** A definition is converted once, however often it is referred to, and even if it refers to itself. */
  private refer(name: string, reference: string, depth: number): GrammarSchema {
    if (!this.definitions.has(name)) {
      this.definitions.set(name, anything);
      this.definitions.set(name, this.convert(this.lookUp(reference), depth + 1));
    }
    return { $ref: `${definitionPrefix}${name}` };
  }

  /** Whether a definition is one of its own alternatives before anything is generated: no grammar can express that. */
  private isCircular(name: string): boolean {
    const reached = new Set<string>();
    const visit = (schema: GrammarSchema | undefined): void => {
      for (const one of schema && 'oneOf' in schema ? schema.oneOf : [schema]) {
        if (!one || !('$ref' in one)) continue;
        const next = one.$ref.slice(definitionPrefix.length);
        if (reached.has(next)) continue;
        reached.add(next);
        visit(this.definitions.get(next));
      }
    };
    visit(this.definitions.get(name));
    return reached.has(name);
  }

  private convertPlain(schema: JsonObject, depth: number): GrammarSchema {
    if (isScalar(schema.const)) return { const: writable(schema.const) };
    if (schema.const !== undefined) return this.convert(spellOut(schema.const), depth + 1);
    const values = listOf(schema.enum).filter(isScalar);
    if (this.areTooMany(values)) return anything;
    this.nodes += values.length;
    if (values.length > 0) return { enum: values.map(writable) };
    const types = new Set(typesOf(schema.type).filter((type) => knownTypes.includes(type)));
    if (types.size === 0 && schema.properties !== undefined) types.add('object');
    if (types.size === 0 && (schema.items !== undefined || schema.prefixItems !== undefined))
      types.add('array');
    if (types.size === 0) return anything;
    if (schema.nullable === true) types.add('null');
    return choice([...types].map((type) => this.convertType(type, schema, depth)));
  }

  private convertType(type: string, schema: JsonObject, depth: number): GrammarSchema {
    if (type === 'object') return this.convertObject(schema, depth);
    if (type === 'array') return this.convertArray(schema, depth);
    if (type !== 'string') return { type };
    const { format } = schema;
    if (typeof format === 'string' && stringFormats.has(format)) return { type, format };
    const { least, most } = bounds(schema.minLength, schema.maxLength);
    return { type, ...(least > 0 && { minLength: least }), ...(most !== undefined && { maxLength: most }) };
  }

  private convertObject(schema: JsonObject, depth: number): GrammarSchema {
    const { additionalProperties: others } = schema;
    const required = new Set(listOf(schema.required));
    const described = isJsonObject(schema.properties) ? schema.properties : {};
    const isDescribed = (name: Json) => typeof name !== 'string' || Object.hasOwn(described, name);
    const undescribed = others === false ? [] : [...required].filter((name) => !isDescribed(name));
    const named = [
      ...Object.entries(described),
      ...undescribed.map((name): [string, Json] => [String(name), others ?? true]),
    ];
    if (this.areTooMany(named)) return anything;
    const optional = new Map<string, GrammarSchema>();
    const properties = new Map<string, GrammarSchema>();
    for (const [name, property] of named) {
      // A forbidden property should not appear as null either.
      if (property === false) continue;
      const converted = this.convertRules(property, depth + 1);
      const isOptional = this.maySkip && !required.has(name);
      if (isOptional) optional.set(name, converted);
      const shown = isOptional ? choice([converted, nothing]) : converted;
      properties.set(writable(name), this.describe(shown, property));
    }
    // If properties are named, the grammar allows no others, so none need be added.
    const isOpen = properties.size === 0 && others !== false;
    const object: GrammarObject = {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(isOpen && { additionalProperties: isJsonObject(others) ? this.convert(others, depth + 1) : true }),
    };
    this.optional.set(object, optional);
    return object;
  }

  private convertArray(schema: JsonObject, depth: number): GrammarSchema {
    const { least, most } = bounds(schema.minItems, schema.maxItems);
    const prefix = listOf(schema.prefixItems).slice(0, most);
    if (this.areTooMany(prefix)) return anything;
    const prefixItems = prefix.map((item) => this.convert(item, depth + 1));
    return {
      type: 'array',
      ...(isJsonObject(schema.items) && { items: this.convert(schema.items, depth + 1) }),
      ...(prefixItems.length > 0 && { prefixItems }),
      ...(least > 0 && { minItems: least }),
      ...(most !== undefined && { maxItems: most }),
    };
  }

  /** A reference that leads nowhere allows anything. */
  private lookUp(reference: string): Json {
    return this.references.target(reference) ?? true;
  }
}

/**
 * Refuses a NUL. llama.cpp reads a grammar only up to the first one, fails to parse what it got, and writes that text,
 * which is the client's, to our log.
 */
function writable<Value extends string | number | boolean | null>(value: Value): Value {
  if (typeof value !== 'string' || !value.includes('\0')) return value;
  throw new SluiceError('invalid-request', 'the model cannot write the NUL that a schema asks for');
}

function choice(alternatives: readonly GrammarSchema[]): GrammarSchema {
  const flat = alternatives.flatMap((one) => ('oneOf' in one ? one.oneOf : [one]));
  const [only = anything, ...others] = flat;
  return others.length === 0 ? only : { oneOf: flat };
}

/** The schema of a constant, made of the schemas of its parts. */
function spellOut(value: Json): Json {
  if (Array.isArray(value)) {
    const { length } = value;
    return {
      type: 'array',
      minItems: length,
      maxItems: length,
      prefixItems: value.map((item) => ({ const: item })),
    };
  }
  if (!isJsonObject(value)) return { const: value };
  const parts = Object.entries(value).map(([name, part]) => [name, { const: part }]);
  return {
    type: 'object',
    required: Object.keys(value),
    additionalProperties: false,
    properties: Object.fromEntries(parts),
  };
}

/** The bounds that a grammar can count to; 0 and absent mean none. */
function bounds(min: Json | undefined, max: Json | undefined): { least: number; most?: number } {
  const isBound = (bound: Json | undefined): bound is number =>
    typeof bound === 'number' && Number.isInteger(bound) && bound >= 0;
  const least = isBound(min) ? Math.min(min, maxRepetition) : 0;
  return isBound(max) && max >= least && max <= maxRepetition ? { least, most: max } : { least };
}

function isScalar(value: Json | undefined): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
