import {
  extend,
  type FormatId,
  type InferenceRequest,
  type JsonObject,
  type Reasoning,
  type ReasoningEffort,
  type Sampling,
  type ToolChoice,
} from '@sluice/canonical';
import type { z } from 'zod';
import { allowedNames } from '../../calls/allowed-tools.ts';
import type { DecodedRequest, EncodedRequest, UpstreamTarget, WireRequest } from '../../codec.ts';
import { effortNamed, effortOf } from '../../efforts.ts';
import { refuseEmptyAnswer } from '../../failures/empty-answer.ts';
import { keptBeside, keptFields } from '../../json/kept-fields.ts';
import { readerOf } from '../../reader.ts';
import { hashedUser } from '../../user-hash.ts';
import { ownFields } from '../foreign.ts';
import { FORMAT, parseWire, requestBody } from '../wire.ts';
import {
  acceptedEffort,
  acceptedMessages,
  acceptedSampling,
  acceptedTools,
  limitField,
} from './gpt-models.ts';
import { decodeMessages } from './messages.ts';
import { encodeMessages } from './messages-encode.ts';
import { decodeOutput, encodeOutput } from './output.ts';
import { decodeFunction, decodeToolChoice, decodeTools, encodeToolChoice, encodeTools } from './tools.ts';

type Body = z.infer<typeof requestBody>;

/** Facts about a call that this dialect reads back when it answers. */
export interface CallFacts extends JsonObject {
  /** A last chunk reports the usage. */
  includeUsage: boolean;
  /** The client used the deprecated `functions` and expects `function_call` in the answer. */
  legacyFunctions: boolean;
}

/** Decodes a client's call. Throws `invalid-request` with the first bad field. */
export function decodeRequest({ body, requestId }: WireRequest): DecodedRequest {
  const wire = parseWire(requestBody, body, '');
  const facts: CallFacts = {
    includeUsage: wire.stream_options?.include_usage ?? false,
    legacyFunctions: wire.functions != null,
  };
  return {
    operation: 'generate',
    request: decodeBody(wire),
    call: {
      stream: wire.stream ?? false,
      model: wire.model,
      choices: wire.n ?? 1,
      requestId,
      wire: facts,
    },
  };
}

function decodeBody(wire: Body): InferenceRequest {
  const output = wire.response_format && decodeOutput(wire.response_format);
  const effort = effortNamed(wire.reasoning_effort);
  return {
    model: wire.model,
    messages: decodeMessages(wire.messages),
    ...decodeToolFields(wire),
    sampling: decodeSampling(wire),
    ...(output && { output }),
    ...(effort && { reasoning: { effort } }),
    ...(wire.logprobs && { logprobs: { alternatives: wire.top_logprobs ?? 0 } }),
    ...(wire.user != null && { endUser: wire.user }),
    ...extend(FORMAT, decodeRest(wire, { output: output != null, effort: effort !== undefined })),
  };
}

function decodeToolFields(wire: Body): Pick<InferenceRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const tools = decodeTools(wire.tools ?? [], 'tools');
  for (const [index, body] of (wire.functions ?? []).entries()) {
    tools.push(decodeFunction(body, `functions[${index}]`));
  }
  const { tool_choice: choice, function_call: legacy } = wire;
  // The deprecated form has room for one call only.
  const isParallel = wire.functions == null ? wire.parallel_tool_calls : false;
  return {
    ...((wire.tools != null || wire.functions != null) && { tools }),
    ...(choice != null && { toolChoice: decodeToolChoice(choice, 'tool_choice') }),
    ...(choice == null && legacy != null && { toolChoice: legacyChoice(legacy) }),
    ...(isParallel != null && { parallelToolCalls: isParallel }),
  };
}

function legacyChoice(choice: 'none' | 'auto' | { name: string }) {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool' as const, name: choice.name };
}

function decodeSampling(wire: Body): Sampling {
  const maxOutputTokens = wire.max_completion_tokens ?? wire.max_tokens;
  // An empty stop string would end every answer before it began.
  const stopSequences = (typeof wire.stop === 'string' ? [wire.stop] : (wire.stop ?? [])).filter(Boolean);
  return {
    ...(maxOutputTokens != null && { maxOutputTokens }),
    ...(wire.temperature != null && { temperature: wire.temperature }),
    ...(wire.top_p != null && { topP: wire.top_p }),
    ...(isTopK(wire.top_k) && { topK: wire.top_k }),
    ...(wire.frequency_penalty != null && { frequencyPenalty: wire.frequency_penalty }),
    ...(wire.presence_penalty != null && { presencePenalty: wire.presence_penalty }),
    ...(wire.seed != null && { seed: wire.seed }),
    ...(stopSequences.length > 0 && { stopSequences }),
  };
}

/** Not part of the dialect, but most of its servers accept `top_k`. They take -1 and 0 to mean that it is absent. */
function isTopK(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}

const knownFields = new Set([...Object.keys(requestBody.shape), 'top_k']);

/** All fields and values without a canonical place. Servers of this dialect get them unchanged. */
function decodeRest(wire: Body, understood: { output: boolean; effort: boolean }): JsonObject {
  const { top_k, response_format, reasoning_effort } = wire;
  return Object.assign(
    keptBeside(wire, knownFields),
    keptFields({
      ...(!isTopK(top_k) && { top_k }),
      ...(!understood.output && { response_format }),
      ...(!understood.effort && { reasoning_effort }),
    }),
  );
}

const streamHeaders = { 'content-type': 'application/json', accept: 'text/event-stream' };
const singleHeaders = { 'content-type': 'application/json', accept: 'application/json' };

/** The streaming or single request for a server. Throws `invalid-request` for what the dialect cannot express. */
export function encodeRequest(asked: InferenceRequest, target: UpstreamTarget): EncodedRequest {
  refuseEmptyAnswer(asked);
  const dropped: FormatId[] = [];
  const { model, isForeign } = readerOf(target, FORMAT);
  const request = isForeign ? accepted(asked, model) : asked;
  const { tools, toolChoice, parallelToolCalls, output, reasoning, logprobs, endUser } = request;
  const messages = encodeMessages(request.messages, isForeign, dropped);
  const effort = reasoning && encodeEffort(reasoning);
  const allowed = isForeign ? allowedNames(asked.toolChoice) : undefined;
  const body: JsonObject = {
    ...ownFields(request, dropped),
    model,
    messages: isForeign ? acceptedMessages(messages, model) : messages,
    ...(target.stream && { stream: true, stream_options: { include_usage: true } }),
    ...encodeSampling(request.sampling, model),
    ...(tools && { tools: encodeTools(tools, dropped, allowed) }),
    ...(toolChoice && { tool_choice: encodeToolChoice(toolChoice, tools ?? []) }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    ...(output && { response_format: encodeOutput(output) }),
    ...(effort && { reasoning_effort: effort }),
    ...(logprobs && { logprobs: true, top_logprobs: logprobs.alternatives }),
    ...(endUser !== undefined && { user: endUser }),
  };
  const headers = target.stream ? streamHeaders : singleHeaders;
  return { path: '/chat/completions', headers, body, dropped };
}

/** The request of a client of another format as servers of this dialect, and OpenAI's own models, accept it. */
function accepted(request: InferenceRequest, model: string): InferenceRequest {
  const { tools = [], toolChoice, parallelToolCalls, reasoning, endUser, ...rest } = request;
  const effort = acceptedEffort(reasoning && encodeEffort(reasoning), model, tools.length > 0);
  return {
    ...rest,
    sampling: acceptedSampling(request.sampling, model),
    // Servers refuse settings about tools if there are no tools, but clients of other formats send them.
    ...(tools.length > 0 && {
      tools: acceptedTools(tools, model),
      ...(toolChoice && { toolChoice: amongAll(toolChoice) }),
      ...(parallelToolCalls !== undefined && { parallelToolCalls }),
    }),
    ...(effort && { reasoning: { effort } }),
    ...(endUser !== undefined && { endUser: shortUser(endUser) }),
  };
}

/** Most servers of the dialect know no choice among some of the tools; they are not told of the others. */
function amongAll(choice: ToolChoice): ToolChoice {
  return choice.type === 'tool' ? choice : { type: choice.type };
}

/** The longest user id that OpenAI's API accepts. */
const longestUser = 64;

/** Clients of other formats have longer ids. A hash still tells their users apart. */
function shortUser(user: string): string {
  return user.length > longestUser ? hashedUser(user) : user;
}

function encodeSampling(sampling: Sampling, model: string): JsonObject {
  const { maxOutputTokens, temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stopSequences } =
    sampling;
  return {
    ...(maxOutputTokens !== undefined && { [limitField(model)]: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(seed !== undefined && { seed }),
    ...(stopSequences !== undefined && { stop: stopSequences }),
  };
}

/** The dialect knows efforts only: a budget of tokens becomes the effort that spends about as much. */
function encodeEffort({ effort, budgetTokens }: Reasoning): ReasoningEffort | undefined {
  if (effort !== undefined || budgetTokens === undefined || budgetTokens < 0) return effort;
  return budgetTokens === 0 ? 'none' : effortOf(budgetTokens);
}
