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
import type { ServerTraits } from './server-traits.ts';

/**
 * A format's server half, used by the ingress. Pure and synchronous: no clock, no randomness, no I/O, no logger. Decode
 * = wire → canonical, encode = canonical → wire.
 */
export interface ServerCodec {
  readonly format: FormatId;
  /** What traces call a generation, as OpenTelemetry's conventions for generative AI name it: mostly `chat`. */
  readonly operationName: string;
  /** How its clients call the settings that a server of another format may refuse, by canonical name. */
  readonly words: ReadonlyMap<string, string>;
  /** POST paths in find-my-way syntax; a trailing `*` passes the rest of the raw path to `decodeRequest`. */
  readonly routes: readonly string[];
  /** GET paths that list models or, with a trailing `/*`, show one. Several formats may claim the same path. */
  readonly modelRoutes: readonly string[];
  /** Whether the caller of a shared or unknown path speaks this format. The registry asks the formats in its order. */
  recognizes(http: HttpFacts): boolean;
  /**
   * Whether a call of this raw path wants its tokens counted instead of a generation. Known before the body is read.
   */
  countsTokens(path: string): boolean;
  /** Whether this raw path can only be a call, even though a route that shows models matches it, too. */
  isCall(path: string): boolean;
  /**
   * Throws the `SluiceError` `invalid-request` with the path of the first bad field, or `not-found` for an unknown
   * action.
   */
  decodeRequest(wire: WireRequest): DecodedRequest;
  /** One generation for each choice that the client asked for, in order. */
  encodeResponse(generations: readonly Generation[], call: ClientCall): Json;
  createStreamEncoder(call: ClientCall): StreamEncoder;
  encodeError(error: ErrorInfo, context: ReplyContext): EncodedError;
  /**
   * The headers that tell clients their rates; `{}` if the format has none.
   *   now: epoch milliseconds
   */
  encodeRates(rates: readonly RateState[], now: number): Record<string, string>;
  /** Absent if no call of the format wants its tokens counted. */
  encodeTokenCount?(inputTokens: number, call: ClientCall): Json;
  encodeModel(model: PublicModel): Json;
  /** Throws `invalid-request` if the paging query makes no sense. */
  encodeModelList(models: readonly PublicModel[], query: Query): Json;
}

/** Query parameters; of a repeated one, the first value. */
export type Query = Readonly<Record<string, string | undefined>>;
/** Header names in lower case. */
export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What is known of a call before its body is read. `path` is raw: percent-encoded, without the query. */
export interface HttpFacts {
  path: string;
  headers: HttpHeaders;
  query: Query;
}

/** A client's call as it arrived. */
export interface WireRequest extends HttpFacts {
  /** The parsed JSON body. */
  body: unknown;
  requestId: string;
}

/** A client's call in canonical terms, and what its reply needs to know. */
export interface DecodedRequest {
  operation: 'generate' | 'count-tokens';
  request: InferenceRequest;
  call: ClientCall;
}

/**
 * What the client asked of the *reply*. `wire` holds facts that only this format reads back (include_usage, alt=sse).
 */
export interface ClientCall {
  stream: boolean;
  /** The model name as the client wrote it; answers repeat it. */
  model: string;
  /** How many answers the client wants: at least 1, at most what its format allows. Each is a generation of its own. */
  choices: number;
  requestId: string;
  wire: JsonObject;
}

/** What an error's body needs to know of its call. */
export interface ReplyContext {
  requestId: string;
}

/** An error as an HTTP answer. */
export interface EncodedError {
  status: number;
  /** Only headers that the error itself demands (`retry-after`, `x-should-retry`). The ingress adds request ids. */
  headers: Record<string, string>;
  body: Json;
}

/**
 * One per response. Both methods return framed text ready for the socket; '' when the format has nothing to say. The
 * text is complete after a terminal event of every choice, or after an error event of any choice.
 */
export interface StreamEncoder {
  readonly contentType: string;
  /**
   * `choice` counts from 0 and stays below `call.choices`. A second start of a choice begins its answer anew, and comes
   * only if nothing but the first start was written of it: what was held back is forgotten.
   */
  push(event: GenerationEvent, choice: number): string;
  /** Text that keeps the connection alive at this point of the stream, including before the first event. */
  keepAlive(): string;
}

/** A model as model lists show it. */
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
  /** Headers that carry the credential and the API version that the server expects. */
  authorize(credential: string | undefined): Record<string, string>;
  /**
   * The request for this server. `path` is relative to the server's base address, which ends in `/v1` for chat
   * completions and has no path for the others, as in each format's SDKs. What the dialect cannot express is refused
   * with `invalid-request` and its canonical path; mere extensions of another format are dropped instead and reported
   * in `dropped`.
   */
  encodeRequest(request: InferenceRequest, target: UpstreamTarget): EncodedRequest;
  /** What becomes of this media if it is sent by URL: the same rule by which `encodeRequest` passes or refuses it. */
  judgeReference(media: MediaReference): ReferenceHandling;
  /** A single body as the events that a stream would have brought. */
  decodeResponse(body: unknown, context: GenerationContext): GenerationEvent[];
  /** Whether the body of an answer that begins with this character, blanks apart, is a stream and no single body. */
  beginsStream(first: string): boolean;
  /** Splits the body of a stream into its messages. */
  createStreamParser(): StreamParser;
  createStreamDecoder(context: GenerationContext): StreamDecoder;
  /** `headers` in lower case. The status gives the kind of an error whose body is not in the format's shape. */
  decodeError(status: number, headers: HttpHeaders, body: unknown): ErrorInfo;
}

/** An image, document or other file given by its URL. */
export interface MediaReference {
  /** An IANA media type; `image/*` if none was given. */
  mediaType: string;
  url: string;
}

/**
 * What a dialect's servers do with media by URL. `own`: the URL is stored at the server or known to it alone, so that
 * nobody else could fetch it. `read`: every server fetches it. `perhaps-read`: it can be expressed, but not every
 * server fetches it. `refused`: it cannot be expressed.
 */
export type ReferenceHandling = 'own' | 'read' | 'perhaps-read' | 'refused';

/** For which server and client a request is encoded. */
export interface UpstreamTarget {
  /** The model's name at the server. */
  model: string;
  /** False asks for a single body. */
  stream: boolean;
  /** Used if the dialect demands a limit and the request has none. */
  maxOutputTokens: number;
  /**
   * The format of the caller. A caller of this dialect is passed on as it spoke, even if the server refuses that; a
   * caller of another format cannot know what servers of this dialect refuse. Absent: this dialect.
   */
  clientFormat?: FormatId;
}

/** A request as it is sent to a server. */
export interface EncodedRequest {
  path: string;
  /** The same object for all requests that have none of their own, so that who adds to them can do so once. */
  headers: Readonly<Record<string, string>>;
  body: JsonObject;
  /** Formats whose extensions could not be expressed, one entry for each thing that carried some. */
  dropped: FormatId[];
}

/** What a decoder puts into the start event, and what it has to know of the request. */
export interface GenerationContext {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** The public name. */
  model: string;
  /**
   * The client accepts one tool call per answer. If the dialect cannot express that, or its server ignores it, the
   * other calls are left out.
   */
  isSingleCall?: boolean;
}

/** One message of a stream: a server-sent event, or what takes its place where streams are framed otherwise. */
export interface StreamMessage {
  /** Absent if the message has no name of its own. */
  event?: string;
  data: string;
}

/** One per upstream answer. Takes pieces of any size, even split inside of a character. */
export interface StreamParser {
  /** The messages that this piece completes. Throws `upstream-failed` for one that is too large. */
  push(chunk: Uint8Array | string): StreamMessage[];
  /** What came of an unfinished last message. */
  end(): StreamMessage[];
}

/**
 * One per upstream answer. `end` reports a stream that stopped without a terminal event as an `upstream-failed` error
 * event.
 */
export interface StreamDecoder {
  push(message: StreamMessage): GenerationEvent[];
  end(): GenerationEvent[];
}

/** A JSON Schema with the name of its component in the OpenAPI document. */
export interface NamedSchema {
  name: string;
  schema: JsonObject;
}

/** What the OpenAPI document says of one operation. The request's schema is derived from the one that validates. */
export interface RouteDocument {
  method: 'get' | 'post';
  /** As OpenAPI writes it: `/v1/models/{model}`. */
  path: string;
  operationId: string;
  summary: string;
  description: string;
  /** True if a model answers, through the queue, and not the gateway itself. */
  isGeneration?: true;
  /** Query parameters; those of the path are derived from it. */
  query?: Readonly<Record<string, string>>;
  /** Absent if there is no body. */
  request?: NamedSchema & { example: Json };
  /** The answer as one JSON document; absent if it is always server-sent events. */
  response?: NamedSchema;
  /** One message of the stream; absent if there is none. */
  stream?: NamedSchema & { contentType: string };
}

/** A format's part of the OpenAPI document. */
export interface FormatDocument {
  title: string;
  description: string;
  routes: readonly RouteDocument[];
  error: NamedSchema;
}

/** A format: its two halves. A new format is a folder with this object and a line in `registry.ts`. */
export interface Format {
  readonly server: ServerCodec;
  readonly client: ClientCodec;
  /** Loads the format's documentation, which costs only those who show it. */
  loadDocument(): Promise<FormatDocument>;
}
