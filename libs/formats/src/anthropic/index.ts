import type { Json } from '@sluice/canonical';
import type { ClientCall, ClientCodec, Format, HttpFacts, ServerCodec } from '../codec.ts';
import { sseFraming } from '../sse.ts';
import { decodeResponse, encodeResponse } from './answer/response.ts';
import { AnthropicStreamDecoder } from './answer/stream-decode.ts';
import { AnthropicStreamEncoder } from './answer/stream-encode.ts';
import { decodeError, encodeError } from './error.ts';
import { judgeReference } from './media.ts';
import { encodeModel, encodeModelList } from './models.ts';
import { encodeRates } from './rates.ts';
import { rephrase } from './rephrase.ts';
import { countsTokens, decodeRequest, encodeRequest } from './request/request.ts';
import { withoutForeignThinking } from './thinking/foreign-thinking.ts';
import { FORMAT } from './wire.ts';

/** The API version that servers are asked for. The newest version refuses every sampling parameter. */
const version = '2023-06-01';

const server: ServerCodec = {
  format: FORMAT,
  operationName: 'chat',
  words: new Map([
    ['sampling.maxOutputTokens', 'max_tokens'],
    ['toolName', 'tool_use_id'],
  ]),
  routes: ['/v1/messages', '/v1/messages/count_tokens'],
  modelRoutes: ['/v1/models', '/v1/models/*'],
  recognizes,
  countsTokens,
  isCall: () => false,
  decodeRequest,
  encodeResponse,
  createStreamEncoder: (call) => new AnthropicStreamEncoder(call),
  encodeError,
  encodeRates,
  encodeTokenCount,
  encodeModel,
  encodeModelList,
};

const client: ClientCodec = {
  format: FORMAT,
  servers: {
    modelList: 'v1/models',
    continuation: { isUnasked: true, flags: {} },
    demandOutputLimit: true,
    sayTokenByToken: false,
    toolName: /^[\w-]{1,128}$/,
    rephrase,
    amend: withoutForeignThinking,
    stopStrings: { most: Number.POSITIVE_INFINITY, takes: (stop) => /\S/.test(stop) },
  },
  authorize: (credential) => ({
    'anthropic-version': version,
    ...(credential !== undefined && { 'x-api-key': credential }),
  }),
  encodeRequest,
  judgeReference,
  decodeResponse,
  ...sseFraming,
  createStreamDecoder: (context) => new AnthropicStreamDecoder(context),
  decodeError,
};

/** The messages dialect. */
export const anthropic: Format = {
  server,
  client,
  loadDocument: async () => (await import('./document.ts')).document,
};

function recognizes({ path, headers }: HttpFacts): boolean {
  const agent = headers['user-agent'];
  return (
    ['anthropic-version', 'provider-version', 'x-api-key'].some((name) => Boolean(headers[name])) ||
    (typeof agent === 'string' && /^(?:Anthropic|claude-cli)\//.test(agent)) ||
    /^\/+v1\/+messages(?:\/|$)/.test(path)
  );
}

function encodeTokenCount(inputTokens: number, call: ClientCall): Json {
  const edits = call.wire.contextManagement === true ? { original_input_tokens: inputTokens } : null;
  return { input_tokens: inputTokens, ...(call.wire.beta === true && { context_management: edits }) };
}
