import { z } from 'zod';
import type { FormatDocument } from '../codec.ts';
import { describeSchema } from '../json/json-schema.ts';
import {
  assistantMessage,
  audioPart,
  filePart,
  functionDefinition,
  functionMessage,
  imagePart,
  jsonObjectFormat,
  jsonSchemaFormat,
  refusalPart,
  requestBody,
  systemMessage,
  textPart,
  toolMessage,
  userMessage,
} from './wire.ts';

const typed = (type: string) => ({ type: z.literal(type) });
const parts = z.union([
  textPart.loose().extend(typed('text')),
  refusalPart.loose().extend(typed('refusal')),
  imagePart.loose().extend(typed('image_url')),
  audioPart.loose().extend(typed('input_audio')),
  filePart.loose().extend(typed('file')),
  z.looseObject({ type: z.string() }),
]);
const content = z.union([z.string(), z.array(parts)]);
const messages = z.union([
  systemMessage.loose().extend({ role: z.enum(['system', 'developer']), content }),
  userMessage.loose().extend({ role: z.literal('user'), content }),
  assistantMessage.loose().extend({ role: z.literal('assistant'), content: content.nullish() }),
  toolMessage.loose().extend({ role: z.literal('tool'), content: content.nullish() }),
  functionMessage.loose().extend({ role: z.literal('function') }),
]);

/** The body as the codec reads it. It also describes the pieces that the codec reads one by one. */
export const documentedRequest = requestBody.extend({
  messages: z.array(messages).min(1),
  tools: z
    .array(
      z.union([
        z.looseObject({ ...typed('function'), function: functionDefinition.loose() }),
        z.looseObject({}),
      ]),
    )
    .nullish(),
  response_format: z
    .union([
      z.looseObject(typed('text')),
      jsonObjectFormat.extend(typed('json_object')),
      jsonSchemaFormat.extend(typed('json_schema')),
      z.looseObject({ type: z.string() }),
    ])
    .nullish(),
});

const usage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.int().optional() }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: z.int().optional() }).optional(),
});
const call = z.looseObject({
  index: z.int().optional(),
  id: z.string().optional(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string() }).optional(),
});
const said = {
  content: z.union([z.string(), z.array(z.looseObject({}))]).nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(call).optional(),
  function_call: z.looseObject({}).optional(),
};
const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
const common = { id: z.string(), created: z.int(), model: z.string() };
const choice = { index: z.int(), logprobs: z.looseObject({}).nullable() };

/** The single body. */
export const documentedResponse = z.looseObject({
  ...common,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.looseObject({
      ...choice,
      finish_reason: finishReason,
      message: z.looseObject({ role: z.literal('assistant'), ...said }),
    }),
  ),
  usage: usage.optional(),
});

/** The error object, the same in a body and in mid-stream. */
export const documentedError = z.looseObject({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** What a `data:` line of a stream holds, except for the last one, `[DONE]`. */
export const documentedEvent = z.union([
  z.looseObject({
    ...common,
    object: z.literal('chat.completion.chunk'),
    choices: z.array(
      z.looseObject({
        ...choice,
        finish_reason: finishReason.nullable(),
        delta: z.looseObject({ role: z.literal('assistant').optional(), ...said }),
      }),
    ),
    usage: usage.nullish(),
  }),
  documentedError,
]);

const model = z.looseObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});

export const document: FormatDocument = {
  title: 'Chat completions',
  description:
    'Base address of the SDK: this server with `/v1`. Unknown fields reach servers of the same format.',
  error: { name: 'ChatError', schema: describeSchema(documentedError) },
  routes: [
    {
      method: 'post',
      path: '/v1/chat/completions',
      operationId: 'createChatCompletion',
      isGeneration: true,
      summary: 'Answer a conversation',
      description:
        'With `stream: true` the answer is server-sent events that end in `data: [DONE]`; a failure after the ' +
        'first event is a last event with an `error`.',
      request: {
        name: 'ChatRequest',
        schema: describeSchema(documentedRequest),
        example: { model: 'sim', messages: [{ role: 'user', content: 'Hello' }] },
      },
      response: { name: 'ChatResponse', schema: describeSchema(documentedResponse) },
      stream: {
        name: 'ChatStreamEvent',
        schema: describeSchema(documentedEvent),
        contentType: 'text/event-stream',
      },
    },
    {
      method: 'get',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'List the models',
      description: 'The models that the key may use.',
      response: {
        name: 'ChatModelList',
        schema: describeSchema(z.looseObject({ object: z.literal('list'), data: z.array(model) })),
      },
    },
    {
      method: 'get',
      path: '/v1/models/{model}',
      operationId: 'getModel',
      summary: 'Show a model',
      description: 'A name or an alias; a name with slashes may be written with them or percent-encoded.',
      response: { name: 'ChatModel', schema: describeSchema(model) },
    },
  ],
};
