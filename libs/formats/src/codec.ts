import type {
  ErrorInfo,
  FormatId,
  Generation,
  GenerationEvent,
  InferenceRequest,
  Json,
  JsonObject,
  RateState,
} from '@sluice/canonical';

/**
 * A format's server half, used by the ingress. Pure and synchronous: no clock, no randomness, no I/O, no
 * logger. Decode = wire → canonical, encode = canonical → wire.
 */
export interface ServerCodec {
  readonly format: FormatId;
  /** What its clients call the settings that a server of another format may refuse, by their canonical names. */
  readonly words: ReadonlyMap<string, string>;
  /** POST paths in find-my-way syntax; a trailing `*` hands the rest of the raw path to `decodeRequest`. */
  readonly routes: readonly string[];
  /** GET paths that list models or (with a trailing `/*`) show one. A path may be claimed by several formats. */
  readonly modelRoutes: readonly string[];
  /** Whether a caller of a shared or unknown path speaks this format. The registry asks in its order. */
  recognizes(http: HttpFacts): boolean;
  /** Whether a call of this raw path wants a count of its tokens and no generation: known before its body is read. */
  countsTokens(path: string): boolean;
  /** Whether this raw path can only be a call, though a route that shows models matches it, too. */
  isCall(path: string): boolean;
  /** Throws `SluiceError` `invalid-request` naming the path of the first bad field, `not-found` for an unknown action. */
  decodeRequest(wire: WireRequest): DecodedRequest;
  /** One generation per choice that the client asked for, in order. */
  encodeResponse(generations: readonly Generation[], call: ClientCall): Json;
  createStreamEncoder(call: ClientCall): StreamEncoder;
  encodeError(error: ErrorInfo, context: ReplyContext): EncodedError;
  /**
   * The headers by which its clients are told of their rates; `{}` where they know none.
   *   now: epoch milliseconds
   */
  encodeRates(rates: readonly RateState[], now: number): Record<string, string>;
  encodeTokenCount(inputTokens: number, call: ClientCall): Json;
  encodeModel(model: PublicModel): Json;
  /** Throws `invalid-request` for a paging query that makes no sense. */
  encodeModelList(models: readonly PublicModel[], query: Query): Json;
}

export type Query = Readonly<Record<string, string | undefined>>;
/** Header names in lower case. */
export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What is known of a call before its body is read. `path` is raw: percent-encoded, without the query. */
export interface HttpFacts {
  path: string;
  headers: HttpHeaders;
  query: Query;
}

export interface WireRequest extends HttpFacts {
  /** The parsed JSON body. */
  body: unknown;
  requestId: string;
}

export interface DecodedRequest {
  operation: 'generate' | 'count-tokens';
  request: InferenceRequest;
  call: ClientCall;
}

/** What the client asked of the *reply*. `wire` holds facts that only this format reads back (include_usage, alt=sse). */
export interface ClientCall {
  stream: boolean;
  /** The model name as the client wrote it; answers repeat it. */
  model: string;
  /** How many answers it wants, at least 1 and at most what its format allows; each is a generation of its own. */
  choices: number;
  requestId: string;
  wire: JsonObject;
}

export interface ReplyContext {
  requestId: string;
}

export interface EncodedError {
  status: number;
  /** Only what the error itself demands (`retry-after`, `x-should-retry`); request ids are the ingress's. */
  headers: Record<string, string>;
  body: Json;
}

/**
 * One per response. Both methods return framed text ready for the socket, '' when the format has nothing to
 * say. After a terminal event of every choice, or after an error event of any, the text is complete.
 */
export interface StreamEncoder {
  readonly contentType: string;
  /** `choice` counts from 0 and stays below `call.choices`. */
  push(event: GenerationEvent, choice: number): string;
  /** Text that keeps the connection alive at this very place of the stream, before the first event too. */
  keepAlive(): string;
}

/** A model as the lists show it. */
export interface PublicModel {
  id: string;
  displayName: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Largest prompt plus answer in tokens; absent means not known. */
  contextTokens?: number;
  /** Largest answer in tokens; absent means not known. */
  maxOutputTokens?: number;
}

/** A format's client half, used by the upstream engine. As pure as the server half. */
export interface ClientCodec {
  readonly format: FormatId;
  readonly servers: ServerTraits;
  /** Headers that carry the credential and the version that the server wants to see. */
  authorize(credential: string | undefined): Record<string, string>;
  /**
   * The streaming request for this server; `path` is relative to the server's base address (which, as in the
   * SDKs of each format, ends in `/v1` for chat completions and has no path for the other two).
   * What the dialect can't say is refused with `invalid-request` that names the path in canonical terms, or,
   * for mere extensions of another format, dropped and reported in `dropped`.
   */
  encodeRequest(request: InferenceRequest, target: UpstreamTarget): EncodedRequest;
  /** What becomes of this media by its URL: the same rule by which `encodeRequest` passes or refuses it. */
  judgeReference(media: MediaReference): ReferenceHandling;
  /** A single body as the events that a stream would have brought. */
  decodeResponse(body: unknown, context: GenerationContext): GenerationEvent[];
  createStreamDecoder(context: GenerationContext): StreamDecoder;
  /** `headers` in lower case. A body that is not the format's error body still gives a true kind from the status. */
  decodeError(status: number, headers: HttpHeaders, body: unknown): ErrorInfo;
}

/** What is known of the servers of a dialect beside its words: what they refuse or can't do, the engine does. */
export interface ServerTraits {
  /** Where they list their models, relative to the base address: who answers there lives. */
  readonly modelList: string;
  /** How they go on with a last message of the assistant: unasked, or by these fields of the body. Absent: they answer it. */
  readonly continuation?: { readonly isUnasked: boolean; readonly flags: JsonObject };
  /** Whether they refuse a request without a limit of its answer. */
  readonly demandOutputLimit: boolean;
  /** Whether a delta of their streams is one token unless it is longer than any; else it is several, which only its length tells. */
  readonly sayTokenByToken: boolean;
  /** The stop strings for which they do not refuse a request; `model` is its name at the server. */
  readonly stopStrings: { readonly most: number; takes(stop: string, model: string): boolean };
  /** The names of tools for which they do not refuse a request. */
  readonly toolName: RegExp;
  /**
   * The same request for a server that refused it in these words, where another of the dialect's words may do; a client of
   * another format (`isForeign`) may lose a wish by it. Absent: the dialect has one word for everything.
   */
  rephrase?(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined;
}

/** A picture, document or other file that is only pointed to. */
export interface MediaReference {
  /** An IANA media type; `image/*` where none was said. */
  mediaType: string;
  url: string;
}

/**
 * What a server of a dialect does with media by URL: `own` is stored at the server or known to it alone, so that
 * nobody else could fetch it; `read` is fetched by every server; `perhaps-read` can be said, but not every server
 * fetches it; `refused` can't be said.
 */
export type ReferenceHandling = 'own' | 'read' | 'perhaps-read' | 'refused';

export interface UpstreamTarget {
  /** The model's name at the server. */
  model: string;
  /** False asks for a single body. */
  stream: boolean;
  /** Used where the dialect demands a limit and the request has none. */
  maxOutputTokens: number;
  /**
   * The format of the caller. One that speaks this dialect is said as it spoke, be it refused; another can't know
   * what a server of this dialect refuses. Absent: this dialect.
   */
  clientFormat?: FormatId;
}

export interface EncodedRequest {
  path: string;
  headers: Record<string, string>;
  body: JsonObject;
  /** Formats whose extensions could not be said here, one entry per thing that carried some. */
  dropped: FormatId[];
}

/** What a decoder puts into the start event, and what it has to know of the request. */
export interface GenerationContext {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Public name. */
  model: string;
  /** The client takes one tool call per answer: where the dialect can't say so, or its server does not heed it, the others are left out. */
  isSingleCall?: boolean;
}

export interface SseMessage {
  /** Absent when the message had no `event:` line. */
  event?: string;
  data: string;
}

/** One per upstream answer. `end` turns a stream that stopped without its terminal into an `upstream-failed` error event. */
export interface StreamDecoder {
  push(message: SseMessage): GenerationEvent[];
  end(): GenerationEvent[];
}

/** A schema as JSON Schema, under the name of the component that the OpenAPI document makes of it. */
export interface NamedSchema {
  name: string;
  schema: JsonObject;
}

/** What a document of the API says of one operation. The request's schema is made of those that validate. */
export interface RouteDocument {
  method: 'get' | 'post';
  /** As OpenAPI writes it: `/v1/models/{model}`. */
  path: string;
  operationId: string;
  summary: string;
  description: string;
  /** True where a model answers, through the queue, and not the gateway itself. */
  isGeneration?: true;
  /** Of the query; those of the path follow from it. */
  query?: Readonly<Record<string, string>>;
  /** Absent where there is no body. */
  request?: NamedSchema & { example: Json };
  /** The single body; absent where the answer is always a stream. */
  response?: NamedSchema;
  /** One message of the stream; absent where there is none. */
  stream?: NamedSchema & { contentType: string };
}

export interface FormatDocument {
  title: string;
  description: string;
  routes: readonly RouteDocument[];
  error: NamedSchema;
}

/** A format: its two halves. A new one is a folder with this and a line in `registry.ts`. */
export interface Format {
  readonly server: ServerCodec;
  readonly client: ClientCodec;
  /** Loads what documents the format; only whoever shows it pays for it. */
  loadDocument(): Promise<FormatDocument>;
}
