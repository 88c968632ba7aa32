import { isJsonObject, type Json, type JsonObject, SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { firstMistake } from '../first-mistake.ts';
import { mostStops } from '../stop-limit.ts';
import { boundTokens } from '../token-limit.ts';

/** The id under which this dialect files its extensions and opaques. */
export const FORMAT = 'openai';

const jsonObject = z.custom<JsonObject>(isJsonObject, 'expected an object').meta({ type: 'object' });
const text = z.string().nullish();
const flag = z.boolean().nullish();
const tokenLimit = z.preprocess(boundTokens, z.int().min(1)).nullish();

/** The body of a request. Null means absent for every field; lists are read element by element in their own files. */
export const requestBody = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
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
  tools: z.array(z.looseObject({ type: text })).nullish(),
  tool_choice: z.union([z.string(), jsonObject]).nullish(),
  parallel_tool_calls: flag,
  functions: z.array(jsonObject).nullish(),
  function_call: z.union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().min(1) })]).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  reasoning_effort: text,
  user: text,
});

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

export const systemMessage = z.looseObject({ content });
export const userMessage = z.looseObject({ content });
export const assistantMessage = z.looseObject({
  content: content.nullish(),
  refusal: text,
  tool_calls: z.array(z.looseObject({ type: text })).nullish(),
  function_call: z.looseObject({ name: z.string(), arguments: text }).nullish(),
});
export const toolMessage = z.looseObject({
  content: content.nullish(),
  tool_call_id: z.string(),
  name: text,
});
export const functionMessage = z.looseObject({ content: content.nullish(), name: z.string() });

export const textPart = z.looseObject({ text: z.string() });
export const refusalPart = z.looseObject({ refusal: z.string() });
export const imagePart = z.looseObject({ image_url: z.looseObject({ url: z.string().min(1) }) });
export const audioPart = z.looseObject({
  input_audio: z.looseObject({ data: z.string(), format: z.string().min(1) }),
});
export const filePart = z.looseObject({
  file: z.looseObject({ file_data: text, file_id: text, filename: text }),
});

export const functionCall = z.looseObject({
  id: z.string().min(1),
  function: z.looseObject({
    name: z.string(),
    // Objects are not in the dialect, but several agents echo them.
    arguments: z.union([z.string(), jsonObject]).nullish(),
  }),
});

export const functionDefinition = z.looseObject({
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
 * The value as the schema reads it. Throws `invalid-request` that names the first bad field as `param`, in the
 * client's own notation; the message holds what was expected and never what was sent.
 */
export function parseWire<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const result = schema.safeParse(value, firstMistake);
  if (result.success) return result.data;
  const { path: inner, message } = deepest(result.error.issues);
  throw invalid(joinPath(path, inner), message.replace(/^Invalid input: /, ''));
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

/** Of the branches of a union the one that got furthest is the one that the client meant; else it is any of them. */
function deepest(issues: readonly z.core.$ZodIssue[]): Found {
  const [issue] = issues;
  if (!issue) return { path: [], message: 'not valid' };
  if (issue.code !== 'invalid_union') return { path: issue.path, message: issue.message };
  const branches = issue.errors.map(deepest);
  const longest = Math.max(...branches.map(({ path }) => path.length));
  const meant = branches.find(({ path }) => path.length > 0 && path.length === longest);
  if (meant) return { path: [...issue.path, ...meant.path], message: meant.message };
  const wanted = branches.map(({ message }) =>
    message.replace(/^.*?expected (.*?)(?:, received \w+)?$/, '$1'),
  );
  return { path: issue.path, message: `expected ${wanted.join(' or ')}` };
}

function joinPath(base: string, path: readonly PropertyKey[]): string {
  let joined = base;
  for (const step of path) {
    if (typeof step === 'number') joined += `[${step}]`;
    else joined += joined === '' ? String(step) : `.${String(step)}`;
  }
  return joined;
}

/** Fields that nobody here reads, to be kept. Null means absent in this dialect. */
export function keptFields(rest: Readonly<Record<string, unknown>>): JsonObject {
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(rest)) {
    // What was parsed from JSON holds nothing but JSON. Assigned, `__proto__` would become the parent of them all.
    if (value !== null && value !== undefined && name !== '__proto__') kept[name] = value as Json;
  }
  return kept;
}

/** `keptFields` of a thing without those that are read by name. A rest pattern copies as much again, and is slower. */
export function keptBeside(wire: JsonObject, known: ReadonlySet<string>): JsonObject {
  const kept: JsonObject = {};
  for (const name in wire) {
    const value = wire[name];
    if (value === null || value === undefined || known.has(name) || name === '__proto__') continue;
    kept[name] = value;
  }
  return kept;
}

/** `keptFields` of a thing and of the object inside it that holds its body, filed as they stand on the wire. */
export function keptNested(
  rest: Readonly<Record<string, unknown>>,
  name: string,
  inner: Readonly<Record<string, unknown>>,
): JsonObject {
  const kept = keptFields(inner);
  return { ...keptFields(rest), ...(Object.keys(kept).length > 0 && { [name]: kept }) };
}
