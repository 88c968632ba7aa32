import type {
  FormatId,
  GenerationEvent,
  InferenceRequest,
  Resume,
  ResumeAbility,
  TraceContext,
} from '@sluice/canonical';
import type { MediaFetchOutcome, Turns } from '@sluice/runtime';
import type { z } from 'zod';

/** The code that can generate. It knows nothing of jobs or tenants, and only the name of the client's format. */
export interface Engine {
  /** Concurrent generations; becomes the worker's concurrency. */
  readonly slots: number;
  /** Files that it may hold open at once, as connections are. Absent: a handful. */
  readonly mostFiles?: number;
  /** What it can do for a generation that another worker lost. */
  readonly resume: ResumeAbility;
  /**
   * Resolves when the engine can generate. Rejects with a sentence that an operator understands, and may then be called
   * again.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Whether it could generate now, for readiness checks: not before its start or after its stop. Cheap; never throws.
   */
  isReady(): boolean;
  /** Whether a job is worth sending to it; asked before each job. Cheap; never throws. */
  availability(): Availability;
  /**
   * Runs one generation: calls `emit` with events in a legal order (canonical's grammar) and resolves after it has
   * emitted the terminal event. It never rejects because a generation failed: that is an `error` event, with the usage
   * `nothingSpent` if no model has seen the request. What it cannot do (tools, JSON, media, going on with a `prefill`)
   * is refused that way, as `invalid-request`: an answer to half of a request looks like one to the whole. It may emit
   * events before it returns. Once `signal` aborts, it emits nothing more, closes what it opened and resolves within
   * 500 ms.
   */
  generate(request: InferenceRequest, run: GenerationRun): Promise<void>;
  /** Closes everything. Generations that still run end in an `error` event; later ones are `unavailable`. */
  stop(): Promise<void>;
}

/**
 * Whether generations can begin. `away`: none can, so other workers should get the jobs. `in-doubt`: the latest news
 * was that none can, and that is being checked.
 */
export type Availability = 'here' | 'in-doubt' | 'away';

/** One order to generate: everything besides the request itself. */
export interface GenerationRun {
  /** Bare id for the start event. */
  id: string;
  /** Names exactly this attempt to an upstream server. Absent: the server is told no name. */
  callId?: string;
  /** The trace that the call belongs to, for an upstream server. Absent: none is known. */
  trace?: TraceContext;
  /** Whose request it is, where an engine shares something out. Absent: not known. */
  tenant?: string;
  /** The model's name at the backend. */
  backendModel: string;
  /**
   * The model's output limit: used if the request has none, and as the maximum if it asks for more. Absent: not known.
   */
  maxOutputTokens?: number;
  /** The caller's format, for an engine that speaks one to its backend. Absent: not known. */
  clientFormat?: FormatId;
  /**
   * The model's context, prompt plus answer, in tokens. A limit is clamped to what the prompt leaves of it. Absent: not
   * known.
   */
  contextTokens?: number;
  /** Aborts on cancel, deadline, a lost listener and drain alike; its reason is ignored. */
  signal: AbortSignal;
  /**
   * What a lost attempt had delivered. The run emits `start` again (the receiver drops it) and continues after the last
   * delivered character: block numbers go on, and the last part may grow. `Resume` does not say whether a final tool
   * call was ended, so the run ends it again (the receiver drops a second `tool-call-end`). The finish reports the
   * usage of the whole answer. An engine that cannot continue emits a bare `upstream-failed`. A resume without content
   * is a fresh start for every engine.
   */
  resume?: Resume;
  /**
   * Takes events in order, synchronously, without waiting or throwing. It may abort the run. A promise per token
   * would cost more than all the rest of the worker.
   */
  emit(event: GenerationEvent): void;
  /**
   * Told of each failure before its event; the last call is about the failure that counts. Absent: nobody wants to
   * know.
   */
  onFailure?(facts: FailureFacts): void;
}

/** What is known of an upstream server's failure, for a log: nothing of what was said to it or by it. */
export interface FailureFacts {
  /** The status of an answer that is a refusal. */
  status?: number;
  /** The server's own id of the refused call; absent if it does not give one. */
  serverRequestId?: string;
  /** What became of the connection or of the answer. */
  why?: string;
}

/** What the registry knows of an engine. The module behind `create` is loaded only if the engine is configured. */
export interface EngineKind<Options> {
  /** The word after `engine` in the configuration. */
  readonly kind: string;
  /** The schema of the backend's fields beside `engine`. */
  readonly options: z.ZodType<Options>;
  /** A page of Markdown for operators, shown below the options in the documentation. Absent: the options say it all. */
  readonly notes?: URL;
  create(options: Options, services: EngineServices): Promise<Engine>;
}

/** What an engine needs from its surroundings. */
export interface EngineServices {
  /** Epoch milliseconds. */
  now(): number;
  /** Counts extensions that the upstream's dialect cannot express. */
  onExtensionsDropped(from: string, to: string): void;
  /**
   * Memory, in bytes, for the files that are fetched by URL, until the answers end; all engines of a process share it.
   */
  fileRoom: Turns;
  /** Counts an image or document that was fetched by URL, or was not. */
  onMediaFetched(outcome: MediaFetchOutcome, durationMs: number): void;
  /** The engine's readiness changed. `why` is for operators; absent if it is ready. */
  onReadiness(isReady: boolean, why?: string): void;
}
