import { z } from 'zod';
import type { FormatDocument, NamedSchema, RouteDocument } from '../codec.ts';
import { describeSchema } from '../json/json-schema.ts';
import { requestBody, responseBody } from './wire.ts';

/** The error object, of a body and of an event in mid-stream. */
export const documentedError = z.looseObject({
  error: z.looseObject({
    code: z.int().min(400).max(599),
    message: z.string(),
    status: z.string(),
    details: z.array(z.looseObject({})).optional(),
  }),
});

/** The body as the codec reads it. */
export const documentedRequest = requestBody;

/** The single body and each message of a stream. */
export const documentedResponse = responseBody;

/** What a `data:` line of a stream holds. */
export const documentedEvent = z.union([responseBody, documentedError]);

const model = z.looseObject({
  name: z.string(),
  baseModelId: z.string(),
  version: z.string(),
  displayName: z.string(),
  description: z.string(),
  inputTokenLimit: z.int().optional(),
  outputTokenLimit: z.int().optional(),
  supportedGenerationMethods: z.array(z.string()),
});

const example = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
// Looser spellings (names with underscores, numbers as text) are brought into this shape first.
const request = { name: 'GenerateRequest', schema: describeSchema(documentedRequest, 'output'), example };
const response: NamedSchema = {
  name: 'GenerateResponse',
  schema: describeSchema(documentedResponse, 'output'),
};

function routesUnder(version: string, suffix: string): RouteDocument[] {
  return [
    {
      method: 'post',
      path: `/${version}/models/{model}:generateContent`,
      operationId: `generateContent${suffix}`,
      isGeneration: true,
      summary: 'Answer a conversation',
      description: 'The model’s name may hold slashes and colons; the action follows the last colon.',
      request,
      response,
    },
    {
      method: 'post',
      path: `/${version}/models/{model}:streamGenerateContent`,
      operationId: `streamGenerateContent${suffix}`,
      isGeneration: true,
      summary: 'Answer a conversation as a stream',
      description:
        'With `alt=sse` server-sent events without an end mark, else one JSON array. A failure after the first message is a last message with an `error`.',
      query: { alt: '`sse` for server-sent events.' },
      request,
      response: {
        name: 'GenerateStreamArray',
        schema: describeSchema(z.array(documentedEvent), 'output'),
      },
      stream: {
        name: 'GenerateStreamEvent',
        schema: describeSchema(documentedEvent, 'output'),
        contentType: 'text/event-stream',
      },
    },
    {
      method: 'post',
      path: `/${version}/models/{model}:countTokens`,
      operationId: `countTokens${suffix}`,
      summary: 'Estimate the tokens of a conversation',
      description:
        'Takes `contents`, or a whole `generateContentRequest`. Answered at once, without a model and without the queue.',
      request: {
        name: 'GenerateCountRequest',
        schema: {
          anyOf: [
            describeSchema(requestBody, 'output'),
            {
              type: 'object',
              required: ['generateContentRequest'],
              properties: { generateContentRequest: describeSchema(requestBody, 'output') },
            },
          ],
        },
        example,
      },
      response: {
        name: 'GenerateTokenCount',
        schema: describeSchema(z.looseObject({ totalTokens: z.int() })),
      },
    },
    {
      method: 'get',
      path: `/${version}/models`,
      operationId: `listModels${suffix}`,
      summary: 'List the models',
      description: 'The models that the key may use, in pages.',
      query: { pageSize: 'Most models of a page.', pageToken: 'What the page before gave.' },
      response: {
        name: 'GenerateModelList',
        schema: describeSchema(
          z.looseObject({ models: z.array(model), nextPageToken: z.string().optional() }),
        ),
      },
    },
    {
      method: 'get',
      path: `/${version}/models/{model}`,
      operationId: `getModel${suffix}`,
      summary: 'Show a model',
      description: 'A name or an alias.',
      response: { name: 'GenerateModel', schema: describeSchema(model) },
    },
  ];
}

export const document: FormatDocument = {
  title: 'Generate content',
  description: 'Base address of the SDK: this server without a path. Names with underscores are accepted.',
  error: { name: 'GenerateError', schema: describeSchema(documentedError) },
  routes: [...routesUnder('v1beta', 'Beta'), ...routesUnder('v1', '')],
};
