import { isJsonObject, type Json, type JsonObject, SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { fieldPath } from '../json/field-path.ts';
import { firstMistake, isMissing, MISSING } from '../json/first-mistake.ts';
import { keptBeside, namesOf } from '../json/kept-fields.ts';
import { mostStops } from '../stop-limit.ts';
import { boundTokens } from '../token-count.ts';

/** This format's name, under which its extensions and opaques are filed. */
export const FORMAT = 'anthropic';

const optional = <Type extends z.ZodType>(type: Type) =>
  type.nullish().transform((value) => value ?? undefined);
/** LangChain before its version 1 sends -1 for `top_p` and `top_k` unless they are set. */
const unlessUnset = <Type extends z.ZodType>(type: Type) =>
  z
    .preprocess((value) => (value === -1 ? null : value), type.nullable())
    .optional()
    .transform((value) => value ?? undefined);
const object = z.custom<JsonObject>(isJsonObject, 'must be an object').meta({ type: 'object' });
const list = z.custom<Json[]>(Array.isArray, 'must be a list').meta({ type: 'array', items: {} });
const strings = z.array(z.string()).max(mostStops, `must hold at most ${mostStops}`);
const anything = z.custom<Json>((value) => value !== undefined, MISSING);

/** The body of both routes. It names only what is read here; everything else is kept as an extension. */
export const requestBody = z.object({
  model: z.string().min(1, 'must not be empty'),
  max_tokens: optional(z.preprocess(boundTokens, z.int().min(0, 'must not be negative'))),
  messages: list.refine((messages) => messages.length > 0, 'must hold at least one message'),
  system: optional(anything),
  stream: optional(z.boolean()),
  // An empty stop string would end every answer before it began.
  stop_sequences: optional(strings).transform((stops) => stops?.filter(Boolean)),
  temperature: optional(z.number().min(0, 'must be between 0 and 1').max(1, 'must be between 0 and 1')),
  top_p: unlessUnset(z.number().min(0, 'must be between 0 and 1').max(1, 'must be between 0 and 1')),
  top_k: unlessUnset(z.int().min(0, 'must not be negative')),
  metadata: optional(object),
  thinking: optional(object),
  output_config: optional(object),
  output_format: optional(object),
  tools: optional(list),
  tool_choice: optional(object),
});
export type RequestBody = z.infer<typeof requestBody>;

/** A turn. */
export const messageBody = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  // Only a system turn may say nothing, if it sets something.
  content: optional(anything),
});
export const metadataBody = z.object({ user_id: optional(z.string()) });
export const jsonFormat = z.object({ type: z.literal('json_schema'), schema: object });

const type = z.string();
/** The blocks of a turn. Like the body, they name only what is read here. */
export const textBlock = z.object({ type, text: z.string() });
export const mediaBlock = z.object({ type, source: object });
export const base64Source = z.object({ type, media_type: z.string(), data: z.string() });
export const urlSource = z.object({ type, url: z.string() });
export const fileSource = z.object({ type, file_id: z.string() });
export const thinkingBlock = z.object({ type, thinking: z.string(), signature: optional(z.string()) });
export const redactedBlock = z.object({ type, data: z.string() });
export const toolUseBlock = z.object({ type, id: z.string(), name: z.string(), input: optional(object) });
export const toolResultBlock = z.object({
  type,
  tool_use_id: z.string(),
  content: optional(anything),
  is_error: optional(z.boolean()),
});

export const customTool = z.object({
  type: optional(z.string()),
  name: z.string().min(1, 'must not be empty'),
  description: optional(z.string()),
  input_schema: object,
  strict: optional(z.boolean()),
});
export const toolChoice = z.object({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: optional(z.string()),
  disable_parallel_tool_use: optional(z.boolean()),
});

/** A stranger's object, split into what is known and the rest. */
export interface Parsed<Known> {
  known: Known;
  /** The fields that the schema does not name and that are not null. */
  rest: JsonObject;
}

/**
 * Reads an object that a stranger sent: the fields that the schema names, and the rest unchanged. Throws
 * `invalid-request` with the first bad field below `path` ('' is the body itself). The message never repeats a value.
 */
export function parseWire<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  value: unknown,
  path: string,
): Parsed<z.infer<z.ZodObject<Shape>>> {
  if (!isJsonObject(value)) throw invalid(path || 'body', 'must be an object');
  const parsed = schema.safeParse(value, firstMistake);
  if (parsed.success) return { known: parsed.data, rest: keptBeside(value, namesOf(schema)) };
  const issue = parsed.error.issues[0];
  throw invalid(fieldPath(path, issue?.path ?? []), issue === undefined ? 'is not valid' : reasonOf(issue));
}

/** The refusal of what is at `path`: a client's mistake, or what this dialect cannot express, by its canonical path. */
export function invalid(path: string, reason: string): SluiceError {
  return new SluiceError('invalid-request', `${path}: ${reason}`, { param: path });
}

/**
 * The blocks of a `content` or `system`, each with its path; a string is one text block. Throws if an element is no
 * block.
 */
export function listBlocks(content: Json | undefined, path: string): { block: JsonObject; path: string }[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }];
  if (!Array.isArray(content)) throw invalid(path, 'must be a string or a list of blocks');
  return content.map((block, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(block)) throw invalid(at, 'must be an object');
    if (typeof block.type !== 'string') throw invalid(`${at}.type`, 'must be a string');
    return { block, path: at };
  });
}

function reasonOf(issue: z.core.$ZodIssue): string {
  if (isMissing(issue)) return MISSING;
  if (issue.code === 'invalid_type') return `must be of type ${issue.expected}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
}
