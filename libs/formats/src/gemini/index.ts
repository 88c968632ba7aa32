import type { Format, HttpFacts } from '../codec.ts';
import { sseFraming } from '../sse.ts';
import { encodeResponse } from './answer/response.ts';
import { createStreamDecoder, decodeResponse } from './answer/stream-decode.ts';
import { createStreamEncoder } from './answer/stream-encode.ts';
import { textTokens } from './answer/usage.ts';
import { decodeError, encodeError } from './error.ts';
import { FORMAT } from './kept.ts';
import { encodeModel, encodeModelList } from './models.ts';
import { judgeReference } from './parts.ts';
import { readAction } from './path.ts';
import { rephrase } from './rephrase.ts';
import { withoutForeignSignatures } from './request/call-signature.ts';
import { decodeRequest, encodeRequest, replyFacts } from './request/request.ts';

const versions = ['/v1beta', '/v1'];
const ownHeaders = ['x-goog-api-key', 'x-provider-api-key', 'x-goog-api-client'];
const ownAgent = /google-genai-sdk\/|GeminiCLI/;

/** One of our headers counts even when it is empty: a CLI in gateway mode sends it without a key. */
function recognizes({ path, headers, query }: HttpFacts): boolean {
  return (
    /^\/+v1beta(?:\/|$)/.test(path) ||
    readAction(path) !== undefined ||
    ownHeaders.some((name) => headers[name] !== undefined) ||
    query.key !== undefined ||
    ownAgent.test(String(headers['user-agent'] ?? ''))
  );
}

/** The generate-content dialect of Google's Gemini API. */
export const gemini: Format = {
  server: {
    format: FORMAT,
    operationName: 'generate_content',
    words: new Map([
      ['messages', 'contents'],
      ['sampling.frequencyPenalty', 'generationConfig.frequencyPenalty'],
      ['sampling.presencePenalty', 'generationConfig.presencePenalty'],
      ['toolName', 'functionResponse.name'],
      ['logprobs', 'generationConfig.responseLogprobs'],
    ]),
    routes: versions.flatMap((version) => [`${version}/models/*`, `${version}/tunedModels/*`]),
    modelRoutes: versions.flatMap((version) => [`${version}/models`, `${version}/models/*`]),
    recognizes,
    countsTokens: (path) => readAction(path) === 'countTokens',
    isCall: (path) => readAction(path) !== undefined,
    decodeRequest,
    encodeResponse,
    createStreamEncoder,
    encodeError,
    // This API reports quotas in errors only.
    encodeRates: () => ({}),
    encodeTokenCount: (inputTokens, call) => ({
      totalTokens: inputTokens,
      ...(replyFacts(call).textOnly && { promptTokensDetails: textTokens(inputTokens) }),
    }),
    encodeModel,
    encodeModelList,
  },
  client: {
    format: FORMAT,
    servers: {
      modelList: 'v1beta/models',
      demandOutputLimit: false,
      sayTokenByToken: false,
      toolName: /^[A-Za-z_][\w.:-]{0,127}$/,
      rephrase,
      amend: withoutForeignSignatures,
      stopStrings: { most: 5, takes: () => true },
    },
    authorize: (credential): Record<string, string> =>
      credential === undefined ? {} : { 'x-goog-api-key': credential },
    encodeRequest,
    judgeReference,
    decodeResponse,
    ...sseFraming,
    createStreamDecoder,
    decodeError,
  },
  loadDocument: async () => (await import('./document.ts')).document,
};
