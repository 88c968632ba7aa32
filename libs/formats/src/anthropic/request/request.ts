import {
  extend,
  type InferenceRequest,
  isJsonObject,
  type Json,
  type JsonObject,
  type OutputFormat,
  SluiceError,
} from '@sluice/canonical';
import type {
  DecodedRequest,
  EncodedRequest,
  HttpHeaders,
  UpstreamTarget,
  WireRequest,
} from '../../codec.ts';
import { MISSING } from '../../json/first-mistake.ts';
import { objectOf } from '../../json/json-object.ts';
import { jsonInstruction } from '../../json-instruction.ts';
import { readerOf } from '../../reader.ts';
import { createEncoding, type Encoding, ownFields } from '../encoding.ts';
import { decodeThinking, encodeOwnThinking } from '../thinking/thinking.ts';
import {
  FORMAT,
  invalid,
  jsonFormat,
  metadataBody,
  parseWire,
  type RequestBody,
  requestBody,
} from '../wire.ts';
import { answerSchema, functionSchema, hasOpenObject, isRecursive } from './answer-schema.ts';
import { isClaude } from './claude-models.ts';
import { compactionOrder, takeCompaction } from './compaction.ts';
import { decodeMessages, decodePrefill, decodeSystem } from './messages-decode.ts';
import { encodeMessages } from './messages-encode.ts';
import { decodeSampling, encodeSampling } from './sampling.ts';
import { isMidLoop } from './tool-loop.ts';
import { foundTools } from './tool-references.ts';
import { calledTools, decodeToolChoice, decodeTools, encodeToolChoice, encodeTools } from './tools.ts';

/** Whether a call of this raw path wants its tokens counted instead of a generation. */
export function countsTokens(path: string): boolean {
  return /\/count_tokens\/*$/.test(path);
}

/** Reads a body of either route. Facts about the reply that only this format understands go into `call.wire`. */
export function decodeRequest(wire: WireRequest): DecodedRequest {
  if (isJsonObject(wire.body)) refuseContinuation(wire.body.thread);
  const { known, rest: unknown } = parseWire(requestBody, wire.body, '');
  // `betas` and `deferred_tools` are our own names for what is filed beside the body, so a client's fields of these
  // names are ignored. No thread is kept either: the ids of our answers are not those of the server behind us.
  const { betas: _betas, deferred_tools: _deferred, thread: _thread, compaction, ...rest } = unknown;
  const operation = countsTokens(wire.path) ? 'count-tokens' : 'generate';
  if (operation === 'generate' && known.max_tokens === undefined) throw invalid('max_tokens', MISSING);
  const betas = readBetas(wire.headers);
  const request = decodeBody(known, { ...rest, ...(betas.length > 0 && { betas }) });
  // A count ignores it: it counts the conversation as it stands.
  if (compaction !== undefined && operation === 'generate')
    request.messages.unshift(compactionOrder(compaction));
  return {
    operation,
    request,
    call: {
      stream: known.stream ?? false,
      model: known.model,
      choices: 1,
      requestId: wire.requestId,
      wire: {
        ...((betas.length > 0 || wire.query.beta === 'true') && { beta: true }),
        ...(isJsonObject(rest.context_management) && { contextManagement: true }),
        ...(request.reasoning?.visible === false && { hidesThinking: true }),
      },
    },
  };
}

/**
 * A continued thread sends only its new messages and relies on the server to hold the others. Without those, the model
 * would know neither the question nor its tools. On this error code, SDKs send the whole conversation again.
 */
function refuseContinuation(thread: unknown): void {
  if (!isJsonObject(thread) || thread.type !== 'continue') return;
  throw new SluiceError('not-found', 'threads are not kept here: send the whole conversation', {
    detail: 'thread-not-found',
    param: 'thread',
  });
}

function decodeBody(known: RequestBody, rest: JsonObject): InferenceRequest {
  const { format: outputFormat, ...config } = known.output_config ?? {};
  const { reasoning, kept: keptThinking } = decodeThinking(known.thinking, config);
  const metadata = known.metadata && parseWire(metadataBody, known.metadata, 'metadata');
  const endUser = metadata?.known.user_id;
  const output =
    decodeOutput(outputFormat, 'output_config.format') ?? decodeOutput(known.output_format, 'output_format');
  const messages = [...decodeSystem(known.system), ...decodeMessages(known.messages)];
  const { tools, deferred } = decodeTools(known.tools ?? [], foundTools(messages));
  return {
    model: known.model,
    messages,
    ...decodePrefill(messages, known.messages),
    ...(tools.length > 0 && { tools }),
    ...decodeToolChoice(known.tool_choice),
    sampling: decodeSampling(known),
    ...(output && { output }),
    ...(reasoning && { reasoning }),
    ...(endUser !== undefined && { endUser }),
    ...extend(FORMAT, {
      ...rest,
      ...keptThinking,
      ...(known.top_k === 0 && { top_k: 0 }),
      ...(deferred.length > 0 && { deferred_tools: deferred }),
      ...(metadata && Object.keys(metadata.rest).length > 0 && { metadata: metadata.rest }),
    }),
  };
}

function decodeOutput(wire: Json | undefined, path: string): OutputFormat | undefined {
  if (wire === undefined || wire === null) return undefined;
  const { known } = parseWire(jsonFormat, wire, path);
  return { type: 'json', schema: known.schema };
}

/** `anthropic-beta` as a list. Tokens that mean nothing here may mean something to a server of this dialect. */
function readBetas(headers: HttpHeaders): string[] {
  const header = headers['anthropic-beta'] ?? [];
  const values = typeof header === 'string' ? [header] : header;
  return values.flatMap((value) => value.split(',').map((token) => token.trim())).filter(isToken);
}

/** Whether the text may stand in a forwarded header. Anything else never was a token. */
function isToken(text: string): boolean {
  return /^[!-~]+$/.test(text);
}

const plainHeaders = {};

/**
 * The body for a server. What this dialect cannot express is refused, with three exceptions that no server promises to
 * honour anyway: `seed` is left out; a temperature above 1 becomes 1; JSON without a schema, or with a schema that
 * Claude has no grammar for, is asked for in the system text.
 */
export function encodeRequest(request: InferenceRequest, target: UpstreamTarget): EncodedRequest {
  refuseUnsayable(request);
  const reader = readerOf(target, FORMAT);
  const encoding = createEncoding(reader);
  const { betas, deferred_tools, thinking, output_config, metadata, ...own } = ownFields(request, encoding);
  const { messages: conversation, compaction } = takeCompaction(request.messages);
  const { system, messages } = encodeMessages(conversation, encoding);
  if (messages.length === 0) throw invalid('messages', 'must not hold blank text only');
  const isFitted = reader.isForeign && isClaude(target.model);
  const { sampling, output, endUser } = request;
  const maxTokens = sampling.maxOutputTokens ?? target.maxOutputTokens;
  const { tools, toolChoice } = encodeToolFields(request, deferred_tools, encoding, isFitted);
  const said = encodeOwnThinking(thinking, request.reasoning, {
    ...reader,
    maxTokens,
    isToolForced: toolChoice?.type === 'any' || toolChoice?.type === 'tool',
    isMidLoop: isMidLoop(request, messages, reader),
  });
  const schema = enforcedSchema(output, isFitted);
  const config = {
    ...(said.effort !== undefined && { effort: said.effort }),
    ...(schema && { format: { type: 'json_schema', schema } }),
    ...objectOf(output_config),
  };
  if (output?.type === 'json' && !schema) {
    system.push({ type: 'text', text: jsonInstruction(output.schema) });
  }
  const user = { ...(endUser !== undefined && { user_id: endUser }), ...objectOf(metadata) };
  const body: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages,
    ...(tools && { tools }),
    ...(toolChoice && { tool_choice: toolChoice }),
    ...encodeSampling(sampling, { ...reader, isThinking: isThinking(said.thinking) }),
    ...(said.thinking && { thinking: said.thinking }),
    ...(compaction !== undefined && { compaction }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(Object.keys(user).length > 0 && { metadata: user }),
    // An answer of no tokens, which only writes the prompt to the cache, is refused as a stream.
    stream: target.stream && maxTokens > 0,
    ...own,
  };
  const headers = Array.isArray(betas) ? { 'anthropic-beta': betas.join(',') } : plainHeaders;
  return { path: '/v1/messages', headers, body, dropped: encoding.dropped };
}

interface ToolFields {
  /** Absent if there are none. */
  tools?: Json[];
  toolChoice?: JsonObject | undefined;
}

/** `isFitted`: the tools are adapted to Claude, for a client of another format that cannot know what it refuses. */
function encodeToolFields(
  request: InferenceRequest,
  deferred: Json | undefined,
  encoding: Encoding,
  isFitted: boolean,
): ToolFields {
  const tools = encodeTools(request, deferred, encoding, (schema, isStrict) =>
    isFitted ? functionSchema(schema, isStrict) : schema,
  );
  if (tools.length > 0) return { tools, toolChoice: encodeToolChoice(request) };
  // Claude refuses a conversation with calls if no tools are declared.
  const called = isFitted ? calledTools(request.messages) : [];
  return called.length === 0 ? {} : { tools: called, toolChoice: { type: 'none' } };
}

/** The schema that the server enforces; absent if there is none, or if Claude has no grammar for it. */
function enforcedSchema(output: OutputFormat | undefined, isFitted: boolean): JsonObject | undefined {
  if (output?.type !== 'json' || output.schema === undefined) return undefined;
  if (!isFitted) return output.schema;
  const { schema } = output;
  return isRecursive(schema) || hasOpenObject(schema) ? undefined : answerSchema(schema);
}

function refuseUnsayable({ sampling, logprobs }: InferenceRequest): void {
  const reason = "this model's server has no such setting";
  if (sampling.frequencyPenalty) throw invalid('sampling.frequencyPenalty', reason);
  if (sampling.presencePenalty) throw invalid('sampling.presencePenalty', reason);
  if (logprobs !== undefined) throw invalid('logprobs', reason);
}

function isThinking(thinking: JsonObject | undefined): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}
