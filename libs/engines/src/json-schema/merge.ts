import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

type Merge = (left: Json, right: Json) => Json;

const tighterLow: Merge = (left, right) =>
  typeof left === 'number' && typeof right === 'number' ? Math.max(left, right) : right;
const tighterHigh: Merge = (left, right) =>
  typeof left === 'number' && typeof right === 'number' ? Math.min(left, right) : right;
const commonMultiple: Merge = (left, right) => {
  if (typeof left !== 'number' || typeof right !== 'number') return right;
  return Number.isInteger(left) && Number.isInteger(right)
    ? (left * right) / greatestCommonDivisor(left, right)
    : Math.max(left, right);
};
const both: Merge = (left, right) => ({ allOf: [left, right] });
const either: Merge = (left, right) => left === true || right === true;

/** Keywords that say more together than the later one alone. */
const merges: Readonly<Record<string, Merge>> = {
  minimum: tighterLow,
  exclusiveMinimum: tighterLow,
  minLength: tighterLow,
  minItems: tighterLow,
  minProperties: tighterLow,
  maximum: tighterHigh,
  exclusiveMaximum: tighterHigh,
  maxLength: tighterHigh,
  maxItems: tighterHigh,
  maxProperties: tighterHigh,
  uniqueItems: either,
  items: both,
  contains: both,
  additionalProperties: (left, right) => (left === false || right === false ? false : both(left, right)),
  required: (left, right) => [...new Set([...listOf(left), ...listOf(right)])],
  enum: (left, right) => {
    const known = new Set(listOf(left).map((value) => JSON.stringify(value)));
    return listOf(right).filter((value) => known.has(JSON.stringify(value)));
  },
  type: (left, right) => commonTypes(typesOf(left), typesOf(right)),
  multipleOf: commonMultiple,
  properties: (left, right) => mergeProperties(left, right),
  patternProperties: (left, right) => mergeProperties(left, right),
};

/**
 * The most that is joined for one request, which takes a tenth of a second. Without a limit, 2,000 parts of one
 * property each took 3 s, and 20,000 took hours.
 */
const mostJoined = 100_000;
/** How many characters of a list cost as much as one property. */
const charactersOfOne = 8;

/** Joins the parts of a stranger's schemas, up to a limit of total work. */
export class SchemaJoiner {
  private joined = 0;

  /**
   * A schema that demands what both demand, as far as keywords can be joined; otherwise the right one's keyword wins.
   * Absent once the limit is reached.
   */
  join(left: JsonObject, right: JsonObject): JsonObject | undefined {
    if (this.joined > mostJoined) return undefined;
    this.joined += Object.keys(left).length;
    for (const [keyword, value] of Object.entries(right)) {
      if (Object.hasOwn(left, keyword)) this.joined += costOf(left[keyword]) + costOf(value);
      if (this.joined > mostJoined) return undefined;
    }
    return mergeSchemas(left, right);
  }
}

/** What it costs to join a keyword's value with another, in properties. */
function costOf(value: Json | undefined): number {
  if (Array.isArray(value)) return JSON.stringify(value).length / charactersOfOne;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

function mergeSchemas(left: JsonObject, right: JsonObject): JsonObject {
  const merged = new Map(Object.entries(left));
  for (const [keyword, value] of Object.entries(right)) {
    const before = merged.get(keyword);
    const merge = Object.hasOwn(merges, keyword) ? merges[keyword] : undefined;
    merged.set(keyword, before === undefined || !merge ? value : merge(before, value));
  }
  return Object.fromEntries(merged);
}

/** The types that a `type` keyword allows; none if it is absent or malformed. */
export function typesOf(type: Json | undefined): string[] {
  return (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
}

/** The elements of an array; none for anything else. */
export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function commonTypes(left: string[], right: string[]): string[] {
  const others = new Set(right);
  const common = left.filter((name) => others.has(name));
  const isInteger = (names: string[], others: string[]) =>
    names.includes('integer') && others.includes('number');
  if (isInteger(left, right) || isInteger(right, left)) common.push('integer');
  return [...new Set(common)];
}

function mergeProperties(left: Json, right: Json): Json {
  if (!isJsonObject(left) || !isJsonObject(right)) return right;
  const merged = new Map(Object.entries(left));
  for (const [name, schema] of Object.entries(right)) {
    const before = merged.get(name);
    merged.set(name, before === undefined ? schema : both(before, schema));
  }
  return Object.fromEntries(merged);
}

/** By Euclid's algorithm; at least 1. */
function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? Math.max(1, left) : greatestCommonDivisor(right, left % right);
}
