import { isJsonObject, type JsonObject, SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { fieldPath } from '../json/field-path.ts';
import { firstMistake, isMissing, MISSING } from '../json/first-mistake.ts';
import { keptBeside, namesOf } from '../json/kept-fields.ts';
import { mostStops } from '../stop-limit.ts';
import { boundTokens } from '../token-count.ts';

/** The id under which this dialect files its extensions and opaques. */
export const FORMAT = 'openai';

const jsonObject = z.custom<JsonObject>(isJsonObject, 'expected an object').meta({ type: 'object' });
const text = z.string().nullish();
const flag = z.boolean().nullish();
/** Servers on one's own machine take -1 for no limit, so clients that were made for them send it. */
const tokenLimit = z
  .preprocess((limit) => (limit === -1 ? null : boundTokens(limit)), z.int().min(1).nullable())
  .optional();

/** The body of a request. Null means absent for every field. Lists are read element by element in their own files. */
export const requestBody = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.unknown()).min(1),
  stream: flag,
  stream_options: z.looseObject({ include_usage: flag }).nullish(),
  n: z.int().min(1).max(128).nullish(),
  max_completion_tokens: tokenLimit,
  max_tokens: tokenLimit,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.number().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(mostStops)]).nullish(),
  logprobs: flag,
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: z.array(z.unknown()).nullish(),
  tool_choice: z.union([z.string(), jsonObject]).nullish(),
  parallel_tool_calls: flag,
  functions: z.array(jsonObject).nullish(),
  function_call: z.union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().min(1) })]).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  reasoning_effort: text,
  user: text,
});

const content = z.union([z.string(), z.array(z.unknown())]);
const role = z.string();
const type = z.string();

/** Messages and their parts. Like the body, they name only what is read here. */
export const anyMessage = z.object({ role });
export const systemMessage = z.object({ role, content });
export const userMessage = z.object({ role, content });
export const assistantMessage = z.object({
  role,
  content: content.nullish(),
  refusal: text,
  tool_calls: z.array(z.unknown()).nullish(),
  function_call: z.looseObject({ name: z.string(), arguments: text }).nullish(),
});
export const toolMessage = z.object({
  role,
  content: content.nullish(),
  tool_call_id: z.string(),
  name: text,
});
export const functionMessage = z.object({ role, content: content.nullish(), name: z.string() });

export const anyPart = z.object({ type });
export const textPart = z.object({ type, text: z.string() });
export const refusalPart = z.object({ type, refusal: z.string() });
export const imagePart = z.object({ type, image_url: z.object({ url: z.string().min(1) }) });
export const audioPart = z.object({
  type,
  input_audio: z.object({ data: z.string(), format: z.string().min(1) }),
});
export const filePart = z.object({
  type,
  file: z.object({ file_data: text, file_id: text, filename: text }),
});

export const anyCall = z.object({ type: text });
export const functionCall = z.object({
  id: z.string().min(1),
  type: text,
  function: z.object({
    name: z.string(),
    // The dialect knows no objects here, but several agents send them back.
    arguments: z.union([z.string(), jsonObject]).nullish(),
  }),
});

export const anyTool = z.object({ type: text, function: z.unknown().optional() });
export const functionDefinition = z.object({
  name: z.string().min(1),
  description: text,
  parameters: jsonObject.nullish(),
  strict: flag,
});
export const namedChoice = z.looseObject({ name: z.string().min(1) });
export const allowedTools = z.looseObject({
  mode: z.enum(['auto', 'required']),
  tools: z.array(jsonObject),
});

export const jsonSchemaFormat = z.looseObject({
  json_schema: z.looseObject({ name: text, schema: jsonObject.nullish(), description: text, strict: flag }),
});
export const jsonObjectFormat = z.looseObject({ schema: jsonObject.nullish() });

/**
 * Parses a value. Throws `invalid-request` with the first bad field as `param`, in the client's own notation. The
 * message says what was expected, never what was sent.
 */
export function parseWire<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const result = schema.safeParse(value, firstMistake);
  if (result.success) return result.data;
  const { path: inner, message } = deepest(result.error.issues);
  throw invalid(fieldPath(path, inner), message.replace(/^Invalid input: /, ''));
}

/** A stranger's object, split into what is known and the rest. */
export interface Read<Shape extends z.ZodRawShape> {
  known: z.infer<z.ZodObject<Shape>>;
  /** The fields that the schema does not name. */
  kept: JsonObject;
}

/**
 * Like `parseWire`, plus the fields that the schema does not name: those of the thing, and those of its body, the
 * object `inner`.
 */
export function readWire<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  value: unknown,
  path: string,
  inner?: string & keyof Shape,
): Read<Shape> {
  const known = parseWire(schema, value, path);
  // Safe to cast: the schema has accepted it as an object.
  const wire = value as JsonObject;
  const kept = keptBeside(wire, namesOf(schema));
  const body = inner === undefined ? undefined : schema.shape[inner];
  const bodyWire = inner === undefined ? undefined : wire[inner];
  if (inner !== undefined && body instanceof z.ZodObject && isJsonObject(bodyWire)) {
    const keptInner = keptBeside(bodyWire, namesOf(body));
    if (Object.keys(keptInner).length > 0) kept[inner] = keptInner;
  }
  return { known, kept };
}

/** The refusal of one field. */
export function invalid(path: string, fact: string): SluiceError {
  const message = path === '' ? `the body is not valid: ${fact}` : `${path}: ${fact}`;
  return new SluiceError('invalid-request', message, path === '' ? {} : { param: path });
}

interface Found {
  path: readonly PropertyKey[];
  message: string;
}

/**
 * The mistake to report. Of a union's branches, the one that got furthest is the one that the client meant; if none
 * did, the message lists what any of them expects.
 */
function deepest(issues: readonly z.core.$ZodIssue[]): Found {
  const [issue] = issues;
  if (!issue) return { path: [], message: 'not valid' };
  if (isMissing(issue)) return { path: issue.path, message: MISSING };
  if (issue.code !== 'invalid_union') return { path: issue.path, message: issue.message };
  const branches = issue.errors.map(deepest);
  const longest = Math.max(...branches.map(({ path }) => path.length));
  const meant = branches.find(({ path }) => path.length > 0 && path.length === longest);
  if (meant) return { path: [...issue.path, ...meant.path], message: meant.message };
  if (branches.some(({ message }) => message === MISSING)) return { path: issue.path, message: MISSING };
  const wanted = branches.map(({ message }) =>
    message.replace(/^.*?expected (.*?)(?:, received \w+)?$/, '$1'),
  );
  return { path: issue.path, message: `expected ${wanted.join(' or ')}` };
}
