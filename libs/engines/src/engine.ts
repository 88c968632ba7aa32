import type { FormatId, GenerationEvent, InferenceRequest, Resume, ResumeAbility } from '@sluice/canonical';
import type { MediaFetchOutcome } from '@sluice/runtime';
import type { z } from 'zod';

/**
 * The code that can generate. An engine knows nothing of jobs or tenants, and of the client's format the name alone.
 */
export interface Engine {
  /** Concurrent generations; becomes the worker's concurrency. */
  readonly slots: number;
  /** What it can do for a generation that another worker lost. */
  readonly resume: ResumeAbility;
  /** Resolves when the engine can generate. Rejects with a sentence an operator understands; then it may be called again. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether it could generate now; asked by readiness checks, cheap, never throws. */
  isReady(): boolean;
  /** Whether it is worth a job; asked before each, cheap, never throws. */
  availability(): Availability;
  /**
   * Runs one generation: calls `emit` with a legal event order (canonical's grammar) and resolves after the
   * terminal event was emitted. Never rejects for a failed generation: that is an `error` event. Events may be
   * emitted before it returns. After `signal` aborts it emits nothing more, closes what it opened and resolves
   * within 500 ms.
   */
  generate(request: InferenceRequest, run: GenerationRun): Promise<void>;
  /** Closes everything. What still runs ends in an `error` event. */
  stop(): Promise<void>;
}

/**
 * What would become of a job. `away`: it is known that none can begin, so that others should get them. `in-doubt`: the
 * last that was heard says so, and is being looked into.
 */
export type Availability = 'here' | 'in-doubt' | 'away';

/** One order to generate: everything beside the request itself. */
export interface GenerationRun {
  /** Bare id for the start event. */
  id: string;
  /** Names this attempt, and no other, to a server that is asked. Absent: it is told no name. */
  callId?: string;
  /** The caller's W3C trace context, for a server that is asked. Absent: none came. */
  traceparent?: string;
  /** The model's name at the backend. */
  backendModel: string;
  /** The limit of the model; used where the request has none and as the clamp where it asks for more. Absent: no limit known. */
  maxOutputTokens?: number;
  /** The format of the caller, for an engine that speaks one to its backend. Absent: not known. */
  clientFormat?: FormatId;
  /** Prompt plus answer of the model in tokens; a limit is clamped to what it leaves. Absent: not known. */
  contextTokens?: number;
  /** Aborts on cancel, deadline, a lost listener and drain alike; its reason is not looked at. */
  signal: AbortSignal;
  /**
   * What a lost attempt had delivered. The run emits `start` again (the receiver drops it), then goes on after
   * the last delivered character: block numbers continue, its last part may grow. `Resume` does not say whether
   * a tool call that stands last was ended, so the run ends it (again): the receiver drops a `tool-call-end` that
   * it has. The finish reports the usage of the whole answer. An engine that can't go on emits a bare
   * `upstream-failed`; a resume without content is a fresh start for every engine.
   */
  resume?: Resume;
  /**
   * Takes events in order, at once, without waiting and without throwing; it may abort the run. Promises per
   * token would cost more than all the rest of the worker (see docs/performance.md).
   */
  emit(event: GenerationEvent): void;
  /** Told of a failure before its event, the last time for the one that counts. Absent: nobody wants to know. */
  onFailure?(facts: FailureFacts): void;
}

/** What is known of the failure of a server that was asked, for a log: nothing of what was said to it or by it. */
export interface FailureFacts {
  /** Of an answer that is a refusal. */
  status?: number;
  /** What the server itself calls the refused call; absent where it does not say. */
  serverRequestId?: string;
  /** What became of the connection or of the answer. */
  why?: string;
}

/** What the registry knows of an engine. The module behind `create` is loaded only where it is configured. */
export interface EngineKind<Options> {
  /** The word after `engine` in the configuration. */
  readonly kind: string;
  /** The backend's part of the configuration, beside `engine`. */
  readonly options: z.ZodType<Options>;
  /** A page of Markdown for operators, which stands below the options in the documents. Absent: these say all. */
  readonly notes?: URL;
  create(options: Options, services: EngineServices): Promise<Engine>;
}

/** What an engine needs of its surroundings. */
export interface EngineServices {
  /** Epoch milliseconds. */
  now(): number;
  /** Counts extensions that could not be said in the upstream's dialect. */
  onExtensionsDropped(from: string, to: string): void;
  /** Counts a picture or document that was fetched by URL, or was not. */
  onMediaFetched(outcome: MediaFetchOutcome, durationMs: number): void;
  /** The engine is not ready (any more), or it is (again). `why` is for operators; absent when it is ready. */
  onReadiness(isReady: boolean, why?: string): void;
}
