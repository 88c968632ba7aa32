import { z } from 'zod';
import type { FormatDocument, RouteDocument } from '../codec.ts';
import { describeSchema } from '../json/json-schema.ts';
import {
  customTool,
  jsonFormat,
  mediaBlock,
  redactedBlock,
  requestBody,
  textBlock,
  thinkingBlock,
  toolChoice,
  toolResultBlock,
  toolUseBlock,
} from './wire.ts';

const typed = (type: string) => ({ type: z.literal(type) });
const blocks = z.union([
  textBlock.extend(typed('text')).loose(),
  mediaBlock.extend({ type: z.enum(['image', 'document']) }).loose(),
  thinkingBlock.extend(typed('thinking')).loose(),
  redactedBlock.extend(typed('redacted_thinking')).loose(),
  toolUseBlock.extend(typed('tool_use')).loose(),
  toolResultBlock.extend(typed('tool_result')).loose(),
  z.looseObject({ type: z.string() }),
]);
const content = z.union([z.string(), z.array(blocks)]);

/** The body as the codec reads it. It also describes the pieces that the codec reads one by one. */
export const documentedRequest = requestBody
  .extend({
    max_tokens: z.int().min(0),
    messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content })).min(1),
    system: z.union([z.string(), z.array(blocks)]).nullish(),
    tools: z.array(z.union([customTool.loose(), z.looseObject({ type: z.string() })])).nullish(),
    output_config: z.looseObject({ format: jsonFormat.loose().nullish() }).nullish(),
    output_format: jsonFormat.loose().nullish(),
    tool_choice: z
      .union([
        toolChoice.loose().extend({ type: z.literal('tool'), name: z.string() }),
        toolChoice.loose().extend({ type: z.enum(['auto', 'any', 'none']) }),
      ])
      .nullish(),
  })
  .loose();
const countRequest = documentedRequest.extend({ max_tokens: z.int().min(0).nullish() });

const counters = {
  cache_creation_input_tokens: z.int().nullish(),
  cache_read_input_tokens: z.int().nullish(),
  output_tokens: z.int(),
};
const message = {
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_sequence: z.string().nullable(),
  usage: z.looseObject({ input_tokens: z.int(), ...counters }),
};

/** The single body. */
export const documentedResponse = z.looseObject({ ...message, stop_reason: z.string() });

/** The error object, of a body and of an event in mid-stream. */
export const documentedError = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});

const block = { index: z.int() };

/** What a `data:` line of a stream holds. The `event:` line before it repeats the type. */
export const documentedEvent = z.union([
  z.looseObject({
    type: z.literal('message_start'),
    message: z.looseObject({ ...message, stop_reason: z.null() }),
  }),
  z.looseObject({ type: z.literal('content_block_start'), ...block, content_block: z.looseObject({}) }),
  z.looseObject({
    type: z.literal('content_block_delta'),
    ...block,
    delta: z.looseObject({ type: z.string() }),
  }),
  z.looseObject({ type: z.literal('content_block_stop'), ...block }),
  z.looseObject({
    type: z.literal('message_delta'),
    delta: z.looseObject({ stop_reason: z.string() }),
    usage: z.looseObject(counters),
  }),
  z.looseObject({ type: z.enum(['message_stop', 'ping']) }),
  documentedError,
  z.looseObject({ type: z.string() }),
]);

const model = z.looseObject({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.iso.datetime(),
  max_input_tokens: z.int().nullable(),
  max_tokens: z.int().nullable(),
});
const page = z.looseObject({
  data: z.array(model),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

const example = { model: 'sim', max_tokens: 256, messages: [{ role: 'user', content: 'Hello' }] };

const calls: readonly RouteDocument[] = [
  {
    method: 'post',
    path: '/v1/messages',
    operationId: 'createMessage',
    isGeneration: true,
    summary: 'Answer a conversation',
    description:
      'With `stream: true` the answer is server-sent events from `message_start` to `message_stop`; a failure after the first event is an `error` event. `anthropic-version` may be any or missing.',
    query: { beta: 'Accepted; the answer then has the fields of the beta.' },
    request: { name: 'MessagesRequest', schema: describeSchema(documentedRequest), example },
    response: { name: 'Message', schema: describeSchema(documentedResponse) },
    stream: {
      name: 'MessageStreamEvent',
      schema: describeSchema(documentedEvent),
      contentType: 'text/event-stream',
    },
  },
  {
    method: 'post',
    path: '/v1/messages/count_tokens',
    operationId: 'countMessageTokens',
    summary: 'Estimate the tokens of a conversation',
    description: 'Answered at once, without a model and without the queue.',
    query: { beta: 'Accepted.' },
    request: { name: 'MessagesCountRequest', schema: describeSchema(countRequest), example },
    response: {
      name: 'MessagesTokenCount',
      schema: describeSchema(z.looseObject({ input_tokens: z.int() })),
    },
  },
];

export const document: FormatDocument = {
  title: 'Messages',
  description: 'Base address of the SDK: this server without a path.',
  error: { name: 'MessagesError', schema: describeSchema(documentedError) },
  routes: [
    ...calls,
    {
      method: 'get',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'List the models',
      description: 'The models that the key may use, in pages.',
      query: {
        limit: 'Most models of a page, 1 to 1000.',
        after_id: 'The page after this model.',
        before_id: 'The page before this model.',
      },
      response: { name: 'MessagesModelList', schema: describeSchema(page) },
    },
    {
      method: 'get',
      path: '/v1/models/{model}',
      operationId: 'getModel',
      summary: 'Show a model',
      description: 'A name or an alias.',
      response: { name: 'MessagesModel', schema: describeSchema(model) },
    },
  ],
};
