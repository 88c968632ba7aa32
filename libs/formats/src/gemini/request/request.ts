import {
  extend,
  type FormatId,
  type InferenceRequest,
  type JsonObject,
  type Message,
} from '@sluice/canonical';
import type {
  ClientCall,
  DecodedRequest,
  EncodedRequest,
  HttpHeaders,
  UpstreamTarget,
  WireRequest,
} from '../../codec.ts';
import { refuseEmptyAnswer } from '../../failures/empty-answer.ts';
import { keptFields } from '../../json/kept-fields.ts';
import { readerOf } from '../../reader.ts';
import { FORMAT, keptOn, nested, noteForeign } from '../kept.ts';
import { encodePath, parsePath } from '../path.ts';
import { parseRequestBody, type WireRequestBody } from '../wire.ts';
import { cachedPrompt, takeCachedPrompt } from './cached-prompt.ts';
import { decodeConfig, encodeConfig } from './config.ts';
import { decodeContents, decodeSystem } from './contents.ts';
import { type EncodedContents, encodeContents } from './contents-encode.ts';
import { markLowDetail } from './media-resolution.ts';
import { outputInstruction } from './output.ts';
import { decodeToolConfig, decodeTools, encodeToolConfig, encodeTools } from './tools.ts';

/** Facts about the reply that only this format's encoders read. */
export interface ReplyFacts {
  /** True for server-sent events, false for one JSON array. */
  sse: boolean;
  includeThoughts: boolean;
  /** The prompt holds no media, so all of its tokens can be reported as text tokens. */
  textOnly: boolean;
  /**
   * The client is `@google/generative-ai`, or LangChain on top of it. Its chats drop a streamed answer with an empty
   * text in it; those of the newer SDKs, one with a chunk without parts.
   */
  isOlderSdk: boolean;
}

/** Decodes a client's call. Throws `invalid-request` with the first bad field, or `not-found` for an unknown action. */
export function decodeRequest(wire: WireRequest): DecodedRequest {
  const { model, action } = parsePath(wire.path);
  const body = parseRequestBody(wire.body, action === 'countTokens');
  const { request, choices, includeThoughts } = decodeBody(body, model);
  const facts: ReplyFacts = {
    sse: (wire.query.alt ?? wire.query.$alt)?.toLowerCase() === 'sse',
    includeThoughts,
    textOnly: isTextOnly(request.messages),
    isOlderSdk: namesOlderSdk(wire.headers),
  };
  const call: ClientCall = {
    stream: action === 'streamGenerateContent',
    model,
    choices,
    requestId: wire.requestId,
    wire: { ...facts },
  };
  return { operation: action === 'countTokens' ? 'count-tokens' : 'generate', request, call };
}

/** Reads the facts back from `ClientCall.wire`; absent ones are false. */
export function replyFacts({ wire }: ClientCall): ReplyFacts {
  return {
    sse: wire.sse === true,
    includeThoughts: wire.includeThoughts === true,
    textOnly: wire.textOnly === true,
    isOlderSdk: wire.isOlderSdk === true,
  };
}

function namesOlderSdk(headers: HttpHeaders): boolean {
  const client = headers['x-goog-api-client'];
  return typeof client === 'string' && client.includes('genai-js/');
}

function decodeBody(
  body: WireRequestBody,
  model: string,
): { request: InferenceRequest; choices: number; includeThoughts: boolean } {
  const { contents, systemInstruction, tools, toolConfig, generationConfig, cachedContent, ...others } = body;
  // The path names the model.
  const { model: _model, ...rest } = others;
  const { choices, kept: configKept, ...config } = decodeConfig(generationConfig ?? {});
  const choice = decodeToolConfig(toolConfig ?? {});
  const decodedTools = decodeTools(tools ?? []);
  const request: InferenceRequest = {
    model,
    messages: [
      ...(cachedContent === undefined ? [] : [cachedPrompt(cachedContent)]),
      ...(systemInstruction ? [decodeSystem(systemInstruction, 'systemInstruction')] : []),
      ...decodeContents(contents, 'contents'),
    ],
    ...(decodedTools.length > 0 && { tools: decodedTools }),
    ...(choice.choice && { toolChoice: choice.choice }),
    ...config,
    ...extend(FORMAT, {
      ...keptFields(rest),
      ...nested('generationConfig', configKept),
      ...nested('toolConfig', choice.kept),
    }),
  };
  markLowDetail(request.messages, configKept.mediaResolution);
  return { request, choices, includeThoughts: config.reasoning?.visible === true };
}

function isTextOnly(messages: readonly Message[]): boolean {
  return !messages.some((message) =>
    message.content.some((part) =>
      part.type === 'tool-result' ? part.content.some(({ type }) => type !== 'text') : isMedia(part.type),
    ),
  );
}

function isMedia(type: string): boolean {
  return type === 'media' || type === 'opaque';
}

const jsonHeaders = { 'content-type': 'application/json' };

/** The request for a server. Throws `invalid-request` for what the dialect cannot express. */
export function encodeRequest(request: InferenceRequest, target: UpstreamTarget): EncodedRequest {
  refuseEmptyAnswer(request);
  const dropped: FormatId[] = [];
  noteForeign(request, dropped);
  const { messages, cachedContent } = takeCachedPrompt(request.messages);
  const { generationConfig: _config, toolConfig: _toolConfig, ...kept } = keptOn(request);
  const tools = encodeTools(request.tools ?? [], dropped);
  const reader = readerOf(target, FORMAT);
  const body: JsonObject = {
    ...instructed(encodeContents(messages, reader, dropped), outputInstruction(request, reader)),
    ...(tools.length > 0 && { tools }),
    ...nested('toolConfig', encodeToolConfig(request, reader)),
    ...nested('generationConfig', encodeConfig(request, reader)),
    ...(cachedContent !== undefined && { cachedContent }),
    ...kept,
  };
  return {
    path: encodePath(target.model, target.stream),
    headers: jsonHeaders,
    body,
    dropped,
  };
}

/** Appends one more instruction to those at the head of the conversation. */
function instructed(encoded: EncodedContents, text: string | undefined): EncodedContents {
  if (text === undefined) return encoded;
  const { parts = [], ...kept } = encoded.systemInstruction ?? {};
  const said = Array.isArray(parts) ? parts : [];
  return { ...encoded, systemInstruction: { parts: [...said, { text }], ...kept } };
}
