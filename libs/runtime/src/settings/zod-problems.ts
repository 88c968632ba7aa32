import type { z } from 'zod';
import type { Problem } from './config-error.ts';
import { namesAt } from './schema-names.ts';
import { spellingHint } from './spelling.ts';

type Issue = z.core.$ZodIssue;

/** Parses settings and collects every mistake; `value` is absent if there are any. */
export function checkSettings<Schema extends z.ZodType>(
  schema: Schema,
  raw: unknown,
  basePath = '',
): { value?: z.output<Schema>; problems: Problem[] } {
  const result = schema.safeParse(raw);
  if (result.success) return { value: result.data, problems: [] };
  return { problems: problemsOf(result.error, raw, { schema, basePath }) };
}

/**
 * The mistakes that zod has found, by dotted path, in words for an operator. Values are never quoted, because they may
 * be secret. `raw` is the parsed value; with `schema`, the nearest known name is suggested for an unknown one.
 */
export function problemsOf(
  error: z.core.$ZodError,
  raw: unknown,
  { schema, basePath = '' }: { schema?: z.ZodType; basePath?: string } = {},
): Problem[] {
  return error.issues.flatMap((issue) => {
    const path = printPath(issue.path, basePath);
    if (issue.code !== 'unrecognized_keys') return [{ path, message: describeIssue(issue, raw) }];
    const known = schema ? namesAt(schema, issue.path) : [];
    return issue.keys.map((name) => ({
      path: printPath([...issue.path, name], basePath),
      message: `unknown name${spellingHint(name, known)}`,
    }));
  });
}

/** Prints a path as `pools.sim.slots`; names with a dot are quoted: `models["llama-3.1"].pool`. */
export function printPath(path: readonly PropertyKey[], basePath = ''): string {
  return path.reduce<string>((printed, segment) => {
    const name = String(segment);
    if (typeof segment === 'number') return `${printed}[${name}]`;
    if (!/^[\w*-]+$/.test(name)) return `${printed}[${JSON.stringify(name)}]`;
    return printed === '' ? name : `${printed}.${name}`;
  }, basePath);
}

/**
 * The beginnings of zod's own messages. Any other message was written for its schema, and is better than one made here.
 */
const zodMessage = /^(Invalid|Too (small|big)|Unrecognized)/;

function describeIssue(issue: Issue, raw: unknown): string {
  if (!zodMessage.test(issue.message)) return lowerFirst(issue.message);
  switch (issue.code) {
    case 'invalid_type':
      if (valueAt(raw, issue.path) === undefined)
        return `is missing; expected ${describeKind(issue.expected)}`;
      return `expected ${describeKind(issue.expected)}, got ${describeKind(kindOf(valueAt(raw, issue.path)))}`;
    case 'too_small':
      return describeBound(
        issue.origin,
        'at least',
        issue.inclusive === false ? 'more than' : 'at least',
        issue.minimum,
      );
    case 'too_big':
      return describeBound(
        issue.origin,
        'at most',
        issue.inclusive === false ? 'less than' : 'at most',
        issue.maximum,
      );
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_key':
      return issue.issues[0] ? lowerFirst(issue.issues[0].message) : 'has a name that is not allowed';
    case 'invalid_format':
      return issue.message.startsWith('Invalid')
        ? `is not a valid ${issue.format}`
        : lowerFirst(issue.message);
    default:
      return lowerFirst(issue.message);
  }
}

function describeBound(origin: string, words: string, numberWords: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${words} ${bound} character${bound === 1 ? '' : 's'}`;
  if (origin === 'array' || origin === 'set')
    return `must have ${words} ${bound} item${bound === 1 ? '' : 's'}`;
  if (origin === 'record' || origin === 'object' || origin === 'map') {
    return `must have ${words} ${bound} entr${bound === 1 ? 'y' : 'ies'}`;
  }
  return `must be ${numberWords} ${bound}`;
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let current = raw;
  for (const segment of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, segment)) return undefined;
    current = Reflect.get(current, segment);
  }
  return current;
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number' && !Number.isInteger(value)) return 'fraction';
  return typeof value;
}

const inWords: Readonly<Record<string, string>> = {
  int: 'a whole number',
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  list: 'a list',
  object: 'a group of names',
  record: 'a group of names',
  nothing: 'nothing',
  fraction: 'a fraction',
};

function describeKind(kind: string): string {
  return inWords[kind] ?? kind;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
