import { isJsonObject, type Json, type JsonObject, SluiceError } from '@sluice/canonical';
import { z } from 'zod';
import { fieldPath } from '../json/field-path.ts';
import { firstMistake, isMissing, MISSING } from '../json/first-mistake.ts';
import { mostStops } from '../stop-limit.ts';
import { boundTokens, tokenCount } from '../token-count.ts';
import { normalizeFields } from './casing.ts';
import { callingModes, thinkingLevels, wordOf } from './enum-numbers.ts';

/*
 * The schemas name only what we read; unknown fields pass through and are kept. Bodies are normalized first
 * (`normalizeFields`), so that names are in camelCase and nulls are absent.
 */

const json = z.custom<Json>((value) => value !== undefined);
const object = z.custom<JsonObject>(isJsonObject, 'expected an object').meta({ type: 'object' });

/** Protobuf writes 64-bit numbers as text, and its readers accept any number as text. */
const number = z.preprocess(numberOfText, z.number());
const integer = z.preprocess(numberOfText, z.number().int());
const tokenLimit = z.preprocess((value) => boundTokens(numberOfText(value)), z.number().int().min(1));

function numberOfText(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

/** Hand-written calls omit the brackets around a single element. */
function asList(value: unknown): unknown {
  return value === undefined || Array.isArray(value) ? value : [value];
}

const listOf = <Item extends z.ZodType>(item: Item) => z.preprocess(asList, z.array(item));

const enumWord = (words: readonly string[]) => z.preprocess((value) => wordOf(value, words), z.string());

const part = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  z.looseObject({
    text: z.string().optional(),
    thought: z.boolean().optional(),
    inlineData: z
      .looseObject({ mimeType: z.string(), data: z.string(), displayName: z.string().optional() })
      .optional(),
    fileData: z
      .looseObject({
        mimeType: z.string().optional(),
        fileUri: z.string(),
        displayName: z.string().optional(),
      })
      .optional(),
    functionCall: z
      .looseObject({ id: z.string().optional(), name: z.string().min(1), args: object.optional() })
      .optional(),
    functionResponse: z
      .looseObject({
        id: z.string().optional(),
        name: z.string().optional(),
        response: json.optional(),
        parts: z.array(object).optional(),
      })
      .optional(),
  }),
);

const content = z.preprocess(
  (value) => (typeof value === 'string' ? { parts: [{ text: value }] } : value),
  z.looseObject({ role: z.string().optional(), parts: listOf(part).optional() }),
);

const functionDeclaration = z.looseObject({
  name: z.string().min(1),
  description: z.string().optional(),
  parameters: object.optional(),
  parametersJsonSchema: object.optional(),
});

const generationConfig = z.looseObject({
  temperature: number.pipe(z.number().min(0)).optional(),
  topP: number.pipe(z.number().min(0).max(1)).optional(),
  topK: integer.pipe(z.number().min(1)).optional(),
  candidateCount: integer.pipe(z.number().min(1).max(8)).optional(),
  maxOutputTokens: tokenLimit.optional(),
  stopSequences: z.preprocess(asList, z.array(z.string().min(1)).max(mostStops)).optional(),
  seed: integer.optional(),
  presencePenalty: number.optional(),
  frequencyPenalty: number.optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: integer.pipe(z.number().min(0).max(20)).optional(),
  responseMimeType: z.string().optional(),
  responseSchema: object.optional(),
  responseJsonSchema: object.optional(),
  thinkingConfig: z
    .looseObject({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: integer.pipe(z.number().min(-1)).optional(),
      thinkingLevel: enumWord(thinkingLevels).optional(),
    })
    .optional(),
});

const toolConfig = z.looseObject({
  functionCallingConfig: z
    .looseObject({
      mode: enumWord(callingModes).optional(),
      allowedFunctionNames: listOf(z.string()).optional(),
    })
    .optional(),
});

/** The body of generateContent and streamGenerateContent. */
export const requestBody = z.looseObject({
  contents: z.preprocess(asList, z.array(content).min(1)),
  systemInstruction: content.optional(),
  tools: listOf(z.looseObject({ functionDeclarations: listOf(functionDeclaration).optional() })).optional(),
  toolConfig: toolConfig.optional(),
  generationConfig: generationConfig.optional(),
  cachedContent: z.string().optional(),
});

export type WirePart = z.output<typeof part>;
export type WireContent = z.output<typeof content>;
export type WireFunction = z.output<typeof functionDeclaration>;
export type WireGenerationConfig = z.output<typeof generationConfig>;
export type WireToolConfig = z.output<typeof toolConfig>;
export type WireRequestBody = z.output<typeof requestBody>;

const count = z.preprocess((value) => tokenCount(numberOfText(value)), z.number().optional());

/** Routers and proxies say an error as a mere text. */
function asError(value: unknown): unknown {
  return typeof value === 'string' && value !== '' ? { message: value } : value;
}

/** What we read of an answer, be it whole or a chunk of a stream. */
export const responseBody = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        index: integer.optional(),
        content: content.optional(),
        finishReason: z.string().optional(),
        logprobsResult: object.optional(),
      }),
    )
    .optional(),
  promptFeedback: z.looseObject({ blockReason: z.string().optional() }).optional(),
  usageMetadata: z
    .looseObject({
      promptTokenCount: count,
      candidatesTokenCount: count,
      thoughtsTokenCount: count,
      toolUsePromptTokenCount: count,
      cachedContentTokenCount: count,
      totalTokenCount: count,
    })
    .optional(),
  modelVersion: z.string().optional(),
  responseId: z.string().optional(),
  error: z.preprocess(asError, z.looseObject({})).optional(),
});

export type WireResponse = z.output<typeof responseBody>;
export type WireUsage = NonNullable<WireResponse['usageMetadata']>;

/**
 * Parses a client's body. A body for token counting may wrap the request to be counted. Throws `invalid-request` with
 * the first bad field, and never repeats its value.
 */
export function parseRequestBody(body: unknown, isCounting: boolean): WireRequestBody {
  if (!isJsonObject(body)) throw new SluiceError('invalid-request', 'the body must be a JSON object');
  const fields = normalizeFields(body);
  const counted = isCounting && isJsonObject(fields) ? fields.generateContentRequest : undefined;
  const parsed = requestBody.safeParse(counted ?? fields, firstMistake);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [...(counted === undefined ? [] : ['generateContentRequest']), ...(issue?.path ?? [])];
  throw invalidField(fieldPath('', path), describe(issue));
}

/** Parses a part that is nested in another one. `path` is its place in the client's body. */
export function parsePart(value: JsonObject, path: string): WirePart {
  const parsed = part.safeParse(normalizeFields(value), firstMistake);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidField(fieldPath(path, issue?.path ?? []), describe(issue));
}

/** Parses an upstream's answer; absent if it does not have the shape of one. */
export function parseResponseBody(body: unknown): WireResponse | undefined {
  if (!isJsonObject(body)) return undefined;
  const parsed = responseBody.safeParse(normalizeFields(body));
  return parsed.success ? parsed.data : undefined;
}

/** The refusal of one field: the client's, as it wrote it, or a canonical one that the dialect cannot express. */
export function invalidField(param: string, fact: string): SluiceError {
  return new SluiceError('invalid-request', `${param}: ${fact}`, { param });
}

function describe(issue: z.core.$ZodIssue | undefined): string {
  if (issue !== undefined && isMissing(issue)) return MISSING;
  const fact = issue?.message.replace(/^Invalid input: /, '') ?? 'not valid';
  return fact.charAt(0).toLowerCase() + fact.slice(1);
}
