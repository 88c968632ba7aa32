import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import type { GrammarSchema } from './library.ts';

/** Precedes the name of a definition. */
export const definitionPrefix = '#/$defs/';

/** A schema that allows any JSON value. */
export const anything: GrammarSchema = {
  oneOf: [
    { type: ['string', 'number', 'boolean', 'null'] },
    { type: 'array' },
    { type: 'object', additionalProperties: true },
  ],
};

/** Reads what a grammar generated: removes the nulls that stand for properties which the model left out. */
export class GrammarReader {
  private readonly definitions: ReadonlyMap<string, GrammarSchema>;
  private readonly optional: ReadonlyMap<GrammarSchema, ReadonlyMap<string, GrammarSchema>>;
  /** Which schemas each list and object was found to fit, or not to fit. */
  private readonly held = new WeakMap<object, Map<GrammarSchema, boolean>>();

  /** `optional`: for each object, the properties that may be absent, with their schemas when they are present. */
  constructor(
    definitions: ReadonlyMap<string, GrammarSchema>,
    optional: ReadonlyMap<GrammarSchema, ReadonlyMap<string, GrammarSchema>>,
  ) {
    this.definitions = definitions;
    this.optional = optional;
  }

  read(value: Json, schema: GrammarSchema): Json {
    if ('$ref' in schema) {
      const target = this.resolve(schema);
      return target ? this.read(value, target) : value;
    }
    if ('oneOf' in schema) {
      const branch = schema.oneOf.find((candidate) => this.fits(value, candidate));
      return branch ? this.read(value, branch) : value;
    }
    if (Array.isArray(value) && ('items' in schema || 'prefixItems' in schema)) {
      const { items = anything, prefixItems = [] } = schema;
      return value.map((item, index) => this.read(item, prefixItems[index] ?? items));
    }
    if (!isJsonObject(value) || !('properties' in schema)) return value;
    const { properties: named = {}, additionalProperties: others } = schema;
    const properties = new Map(Object.entries(named));
    const unnamed = typeof others === 'object' ? others : anything;
    const optional = this.optional.get(schema);
    const kept = Object.entries(value).filter(([name, item]) => {
      const present = optional?.get(name);
      return item !== null || present === undefined || this.fits(null, present);
    });
    return Object.fromEntries(
      kept.map(([name, item]) => [name, this.read(item, properties.get(name) ?? unnamed)]),
    );
  }

  /**
   * Whether a grammar of this schema can have generated the value, lengths and formats aside. A definition that does
   * not fit is not checked again (`asked`): in 14 definitions whose alternatives all refer to the next one, there are
   * 8^14 ways to the last.
   */
  private fits(value: Json, schema: GrammarSchema, asked = new Set<string>()): boolean {
    if ('$ref' in schema) {
      if (asked.has(schema.$ref)) return false;
      asked.add(schema.$ref);
      const target = this.resolve(schema);
      return target === undefined || this.fits(value, target, asked);
    }
    if ('oneOf' in schema) return schema.oneOf.some((branch) => this.fits(value, branch, asked));
    if ('const' in schema) return schema.const === value;
    if ('enum' in schema) return schema.enum.some((one) => one === value);
    const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
    if (!types.some((type) => isOfType(value, type))) return false;
    return typeof value !== 'object' || value === null || this.holds(value, schema);
  }

  /** Whether the parts of a list or an object fit, checked once: alternatives may lie within each other. */
  private holds(value: Json[] | JsonObject, schema: GrammarSchema): boolean {
    const known = this.held.get(value) ?? new Map<GrammarSchema, boolean>();
    this.held.set(value, known);
    const holds =
      known.get(schema) ??
      (Array.isArray(value) ? this.holdsItems(value, schema) : this.holdsProperties(value, schema));
    known.set(schema, holds);
    return holds;
  }

  private holdsItems(value: readonly Json[], schema: GrammarSchema): boolean {
    if (!('items' in schema || 'prefixItems' in schema)) return true;
    const { items, prefixItems = [] } = schema;
    return value.every((item, index) => {
      const own = prefixItems[index] ?? items;
      return own === undefined || this.fits(item, own);
    });
  }

  private holdsProperties(value: JsonObject, schema: GrammarSchema): boolean {
    if (!('properties' in schema || 'additionalProperties' in schema)) return true;
    const { properties = {}, additionalProperties: others = false } = schema;
    if (!Object.keys(properties).every((name) => Object.hasOwn(value, name))) return false;
    return Object.entries(value).every(([name, part]) => {
      const own = Object.hasOwn(properties, name) ? (properties[name] ?? others) : others;
      return typeof own === 'boolean' ? own : this.fits(part, own);
    });
  }

  private resolve({ $ref }: { $ref: string }): GrammarSchema | undefined {
    return this.definitions.get($ref.slice(definitionPrefix.length));
  }
}

function isOfType(value: Json, type: string): boolean {
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array';
  return type === typeof value || (type === 'integer' && typeof value === 'number');
}
