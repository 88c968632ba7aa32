import type { ClientCodec, Format, ServerCodec } from '../codec.ts';
import { sseFraming } from '../sse.ts';
import { decodeResponse, encodeResponse } from './answer/response.ts';
import { ChatStreamDecoder } from './answer/stream-decode.ts';
import { ChatStreamEncoder } from './answer/stream-encode.ts';
import { decodeError, encodeError } from './error.ts';
import { encodeModel, encodeModelList } from './models.ts';
import { encodeRates } from './rates.ts';
import { rephrase } from './rephrase.ts';
import { withoutForeignSignatures } from './rephrasings/call-words.ts';
import { refusesStops } from './rephrasings/setting-words.ts';
import { takesStops } from './request/gpt-models.ts';
import { judgeReference } from './request/parts.ts';
import { decodeRequest, encodeRequest } from './request/request.ts';
import { FORMAT } from './wire.ts';

const server: ServerCodec = {
  format: FORMAT,
  operationName: 'chat',
  words: new Map([
    ['sampling.frequencyPenalty', 'frequency_penalty'],
    ['sampling.presencePenalty', 'presence_penalty'],
    ['toolName', 'tool_call_id'],
  ]),
  routes: ['/v1/chat/completions'],
  modelRoutes: ['/v1/models', '/v1/models/*'],
  recognizes: () => true,
  countsTokens: () => false,
  isCall: () => false,
  decodeRequest,
  encodeResponse,
  createStreamEncoder: (call) => new ChatStreamEncoder(call),
  encodeError,
  encodeRates,
  encodeModel,
  encodeModelList,
};

const client: ClientCodec = {
  format: FORMAT,
  servers: {
    modelList: 'models',
    continuation: {
      isUnasked: false,
      flags: { continue_final_message: true, add_generation_prompt: false },
    },
    demandOutputLimit: false,
    sayTokenByToken: true,
    toolName: /^[\w-]{1,64}$/,
    rephrase,
    amend: withoutForeignSignatures,
    stopStrings: { most: 4, takes: (_stop, model) => takesStops(model), areRefused: refusesStops },
  },
  authorize: (credential) => (credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
  encodeRequest,
  judgeReference,
  decodeResponse,
  ...sseFraming,
  createStreamDecoder: (context) => new ChatStreamDecoder(context),
  decodeError,
};

/** Chat completions. The base address of an upstream ends in `/v1`, as in the SDKs. */
export const openai: Format = {
  server,
  client,
  loadDocument: async () => (await import('./document.ts')).document,
};
